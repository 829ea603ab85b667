------------------------------- MODULE Delivery -------------------------------
(* What a consumer may rely on: whoever waits is served in the end, once, and  *)
(* keeps what it got.                                                          *)
CONSTANT Outputs
VARIABLE waiter      \* output -> "absent", "waiting" or "served"

Init == waiter = [output \in Outputs |-> "absent"]

(* A consumer asks for an output that is not there yet. *)
Wait(output) ==
    /\ waiter[output] = "absent"
    /\ waiter' = [waiter EXCEPT ![output] = "waiting"]

(* One consumer gets its output, at once or after waiting. *)
Serve(output) ==
    /\ waiter[output] # "served"
    /\ waiter' = [waiter EXCEPT ![output] = "served"]

(* The outputs of one batch reach all who wait for them together. *)
ServeTogether(outputs) ==
    /\ \A output \in outputs : waiter[output] = "waiting"
    /\ waiter' = [output \in Outputs |-> IF output \in outputs THEN "served" ELSE waiter[output]]

Next ==
    \/ \E output \in Outputs : Wait(output) \/ Serve(output)
    \/ \E outputs \in SUBSET Outputs : ServeTogether(outputs)

Spec == Init /\ [][Next]_waiter
FairSpec == Spec /\ \A output \in Outputs : WF_waiter(waiter[output] = "waiting" /\ Serve(output))
===============================================================================
