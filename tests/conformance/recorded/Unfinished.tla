---- MODULE Unfinished ----
VARIABLE x
Init == IF TRUE THEN x = 1 ESLE x = 2
====
