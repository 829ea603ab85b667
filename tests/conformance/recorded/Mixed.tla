---- MODULE Mixed ----
EXTENDS Naturals
VARIABLE x
Init == x = {}
Next == x' = x - 1
Spec == Init /\ [][Next]_x
====
