---------------------------- MODULE ReusedRequestId ----------------------------
(* A client comes back with the id of its last request, while the stream of    *)
(* that one is being closed, at whatever moment: before, while and after either *)
(* is computed.  Outputs belong to an admission, and not to its id.             *)
EXTENDS RequestPath

(* Any other state without a next step is a deadlock. *)
Terminating == AtRest /\ UNCHANGED vars

Next == Path \/ Terminating

Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ FairPath

-------------------------------------------------------------------------------

(* No request is aborted but one whose own stream was closed. *)
OthersUntouchedInv == \A number \in Numbers : outcome[number] = "aborted" => client[number] = "closed"

(* No client gets an output but that of its own request. *)
OwnOutputInv == \A number \in Numbers : output[number] # None => owner[output[number]] = number

(* Whoever asks for an output gets it in the end. *)
EveryAskingServedProp == \A number \in Numbers : client[number] = "asking" ~> client[number] = "served"
===============================================================================
