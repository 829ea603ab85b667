"""Programs on machines: processes of this one, and nodes of a Ray."""
