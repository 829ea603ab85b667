-------------------------------- MODULE MCDoor --------------------------------
EXTENDS Door

(* Defect no_key: the door opens for anybody. *)
PersonOpen_Bug(person) ==
    /\ ~open
    /\ open' = TRUE
    /\ UNCHANGED holds

(* Defect same_key: it is not looked whether a key is free. *)
PersonTake_Bug(person) ==
    /\ holds[person] = {}
    /\ ~open
    /\ \E key \in Keys : holds' = [holds EXCEPT ![person] = {key}]
    /\ UNCHANGED open
===============================================================================
