"""Devices whose work is conducted."""
