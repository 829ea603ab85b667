--------------------------- MODULE MCReusedRequestId ---------------------------
(* Refinement, the historical behaviour that a Bug cfg swaps in, mutants, and  *)
(* probes.                                                                     *)
EXTENDS ReusedRequestId

Seen == [number \in Numbers |-> IF outcome[number] = "none" THEN "absent" ELSE outcome[number]]
Abs == INSTANCE ExactlyOnce WITH outcome <- Seen
RefinesProp == Abs!FairSpec

(* Defect reused_request_id: whatever is open under the id ends with the stream that is closed. *)
StreamEnd_Bug(number) ==
    /\ MayEnd(number)
    /\ outcome' = Ended(Numbers)
    /\ waiting' = waiting \ Open(Numbers)
    /\ client' = [Told(Numbers) EXCEPT ![number] = IF @ = "failing" THEN "failed" ELSE "closed"]
    /\ Drop(GivenUp(Numbers))
    /\ UNCHANGED <<output, deserted, others, dispatcher, owner, arriving>>

(* Mutants. *)
(* Nobody wakes the dispatcher. *)
Awake_Never == dispatcher

(* The dispatcher forgets to drop the output of a request that has ended. *)
DispatcherSettle_Keeps ==
    LET computed == Len(owner)
    IN /\ dispatcher = "took"
       /\ IsBehind(computed, arriving)
       /\ dispatcher' = "ready"
       /\ output' = [output EXCEPT ![owner[computed]] = computed]
       /\ UNCHANGED <<waiting, outcome, deserted, client, others, owner, arriving, table>>

(* The dispatcher settles the request that was admitted last. *)
DispatcherSettle_Confuses ==
    LET computed == Len(owner)
    IN /\ dispatcher = "took"
       /\ IsBehind(computed, arriving)
       /\ dispatcher' = "ready"
       /\ output' = [output EXCEPT ![2] = computed]
       /\ UNCHANGED <<waiting, outcome, deserted, client, others, owner, arriving, table>>

(* Probes: each must fail, for the state that it denies is an interesting one. *)
(* The old stream is never closed while both requests have their outputs in the table. *)
NeverBothCachedInv == ~(cached = {1, 2})
(* No output arrives behind the end of its request. *)
NeverLateInv == \A one \in arriving : ~(one \notin opened)
===============================================================================
