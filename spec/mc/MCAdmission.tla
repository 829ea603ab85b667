----------------------------- MODULE MCAdmission -----------------------------
(* Refinement, the historical behaviour that a Bug cfg swaps in, mutants, and  *)
(* probes.                                                                     *)
EXTENDS Admission

Seen == [number \in Numbers |->
            IF client[number] = "refused" THEN "refused"
            ELSE IF outcome[number] = "none" THEN "absent" ELSE outcome[number]]
Abs == INSTANCE ExactlyOnce WITH outcome <- Seen
RefinesProp == Abs!FairSpec

(* Defect deferred_admission: submit returns at once; its generator admits when it is first asked. *)
Submitted_Bug(number) == TRUE

(* Mutants. *)
(* Nobody wakes the dispatcher. *)
Awake_Never == dispatcher

(* EngineAdmit refuses nothing ... *)
EngineAdmit_Unbounded(number) ==
    /\ client[number] = "calling"
    /\ \A other \in Numbers : other < number => client[other] # "calling"
    /\ waiting' = waiting \cup {number}
    /\ outcome' = [outcome EXCEPT ![number] = "open"]
    /\ client' = [client EXCEPT ![number] = "asking"]
    /\ dispatcher' = Awake
    /\ UNCHANGED <<output, deserted, others, owner, arriving, table>>

(* ... or refuses what it has taken in already. *)
EngineAdmit_Late(number) ==
    /\ client[number] = "calling"
    /\ \A other \in Numbers : other < number => client[other] # "calling"
    /\ waiting' = waiting \cup {number}
    /\ outcome' = [outcome EXCEPT ![number] = "open"]
    /\ client' = [client EXCEPT ![number] = IF Cardinality(waiting') > MaxWaiting THEN "refused" ELSE "asking"]
    /\ dispatcher' = Awake
    /\ UNCHANGED <<output, deserted, others, owner, arriving, table>>

(* Probes: each must fail, for the state that it denies is an interesting one. *)
(* No request is ever refused. *)
NeverRefusedInv == \A number \in Numbers : client[number] # "refused"
(* No abort comes when the client has the output in hands already. *)
NeverAtTheLastMomentInv == \A number \in Numbers : ~(client[number] = "having" /\ outcome[number] = "aborted")
===============================================================================
