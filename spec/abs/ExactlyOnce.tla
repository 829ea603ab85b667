------------------------------ MODULE ExactlyOnce ------------------------------
(* What a client may rely on: a request is admitted or refused at the call,    *)
(* and what was admitted ends in exactly one outcome, which stays.             *)
CONSTANT Numbers     \* of the calls, in order
VARIABLE outcome     \* call -> what became of it

Outcomes == {"result", "error", "aborted", "timed out", "shut down"}

Init == outcome = [number \in Numbers |-> "absent"]

(* A request is admitted. *)
Admit(number) ==
    /\ outcome[number] = "absent"
    /\ outcome' = [outcome EXCEPT ![number] = "open"]

(* A request is refused, and nothing of it is kept. *)
Refuse(number) ==
    /\ outcome[number] = "absent"
    /\ outcome' = [outcome EXCEPT ![number] = "refused"]

(* Open requests end together, each with the same error: an abort, a shutdown, a batch that failed. *)
Fail(numbers, error) ==
    /\ numbers # {}
    /\ \A number \in numbers : outcome[number] = "open"
    /\ outcome' = [number \in Numbers |-> IF number \in numbers THEN error ELSE outcome[number]]

(* A request ends with its output. *)
Serve(number) ==
    /\ outcome[number] = "open"
    /\ outcome' = [outcome EXCEPT ![number] = "result"]

End(number) == Serve(number) \/ \E error \in Outcomes \ {"result"} : Fail({number}, error)

Next ==
    \/ \E number \in Numbers : Admit(number) \/ Refuse(number) \/ Serve(number)
    \/ \E numbers \in SUBSET Numbers, error \in Outcomes \ {"result"} : Fail(numbers, error)

Spec == Init /\ [][Next]_outcome

(* None stays open for ever. *)
FairSpec == Spec /\ \A number \in Numbers : WF_outcome(End(number))
===============================================================================
