------------------------------- MODULE Answering -------------------------------
(* What a caller may rely on: a call ends, once, with its own answer or with   *)
(* none.                                                                       *)
EXTENDS Integers
CONSTANT Calls
VARIABLE ending      \* call -> Open, None, or whose answer it got

Open == -2
None == -1

Init == ending = [call \in Calls |-> Open]

(* A call gets its own answer, or none. *)
End(call) ==
    /\ ending[call] = Open
    /\ \E answer \in {call, None} : ending' = [ending EXCEPT ![call] = answer]

Next == \E call \in Calls : End(call)

Spec == Init /\ [][Next]_ending
FairSpec == Spec /\ \A call \in Calls : WF_ending(End(call))
===============================================================================
