------------------------------- MODULE Admission -------------------------------
(* A request is admitted, or refused, at the call: not when its output is      *)
(* first asked for.  So whoever aborts a request that was submitted finds it.   *)
EXTENDS RequestPath

(* Any other state without a next step is a deadlock. *)
Terminating == AtRest /\ UNCHANGED vars

Next == Path \/ EngineAbort \/ Terminating

Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ FairPath

-------------------------------------------------------------------------------

(* Once a request that was submitted has been aborted, it is not open, and never will be. *)
AbortedHasEndedInv == aborted => \A number \in Aborted : outcome[number] \in {"result", "aborted"}

(* No more requests wait than may. *)
WithinBoundsInv == Cardinality(waiting) <= MaxWaiting

(* Nothing is kept of a request that was refused. *)
RefusedIsNothingInv == \A number \in Numbers : client[number] = "refused" => outcome[number] = "none"

(* Whoever asks for an output gets it in the end, or hears that the request was aborted. *)
EveryAskingAnsweredProp == \A number \in Numbers : client[number] = "asking" ~> client[number] \in {"served", "failed"}
===============================================================================
