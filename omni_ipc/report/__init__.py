"""What people read: traces, verdicts and check lists as text. It knows records, and nothing that makes them."""
