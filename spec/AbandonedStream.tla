---------------------------- MODULE AbandonedStream ----------------------------
(* Clients that leave without their outputs, at whatever moment: one closes the *)
(* stream over its streams, which somebody aborts besides; one lets go of its   *)
(* stream, and tells nobody.  Their outputs, which may still be on their way,   *)
(* go with them.                                                               *)
EXTENDS RequestPath

(* Any other state without a next step is a deadlock. *)
Terminating == AtRest /\ UNCHANGED vars

Next ==
    \/ DispatcherTake \/ DispatcherSettle \/ PumpDeliver \/ EngineAbort \/ EngineStatistics
    \/ \E number \in Numbers : EngineAdmit(number) \/ StreamEnd(number) \/ StreamDesert(number)
    \/ Terminating

Spec == Init /\ [][Next]_vars
FairSpec ==
    /\ Spec
    /\ FairPath
    /\ WF_vars(EngineStatistics)
    /\ \A number \in Numbers : WF_vars(StreamDesert(number))

-------------------------------------------------------------------------------

(* The request of a client that has left has ended, or will when the scheduler next looks. *)
LeavingIsToldInv ==
    \A number \in Numbers :
        client[number] \in {"closed", "gone"} => outcome[number] # "open" \/ number \in deserted

(* What is cached is taken, or given up, in the end. *)
NothingCachedForEverProp == \A kept \in Outputs : kept \in cached ~> kept \notin cached
===============================================================================
