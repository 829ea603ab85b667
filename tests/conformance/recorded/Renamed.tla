---- MODULE Called ----
VARIABLE x
Spec == x = 0 /\ [][x' = x]_x
====
