"""The contract of docs/protocol.md, sentence by sentence, on real worker processes."""
