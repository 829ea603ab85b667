---- MODULE Misspelt ----
VARIABLE x
Init == x = "a
====
