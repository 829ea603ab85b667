---- MODULE Assuming ----
EXTENDS Naturals
ASSUME Sane == 1 > 2
VARIABLE x
Spec == x = 0 /\ [][x' = x]_x
====
