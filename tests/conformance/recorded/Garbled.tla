---- MODULE Garbled ----
VARIABLE x
Init == x = = 0
====
