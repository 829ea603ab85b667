"""What a soak came to, for people: as sentences, as a page, and while it runs."""
