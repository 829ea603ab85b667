------------------------------- MODULE SplitMap -------------------------------
(* A batch is one forward and one message, and holds one output per request.   *)
(* The split map, which batch holds which outputs, is registered by the        *)
(* dispatcher; it hears of the batch on one lane (COMPUTE_DONE) while the pump  *)
(* hears of its outputs on another (OUTPUT_READY), in either order.  Whoever    *)
(* is second must do the splitting.                                            *)
(*                                                                             *)
(*   worker --announce--> inbox --unpack--> pump --take split--> per-output    *)
(*                                        dispatcher: expect     future, cache *)
EXTENDS FiniteSets

CONSTANTS
    Batches,        \* ids of the batches; each is announced once and expected once
    Outputs,        \* ids of the outputs that consumers wait for, one a request
    Parts           \* batch -> the outputs that it holds

ASSUME PartsArePartition ==
    /\ DOMAIN Parts = Batches
    /\ UNION {Parts[batch] : batch \in Batches} = Outputs
    /\ \A one, other \in Batches : one # other => Parts[one] \cap Parts[other] = {}

VARIABLES
    inbox,          \* batches announced by the worker and not yet taken by the pump
    pump,           \* where the pump is, and the batch in its hands
    splits,         \* batches whose split map is registered and not yet used
    unsplit,        \* batches that lie whole in the table
    registered,     \* outputs with a future in the table
    cached,         \* outputs that lie in the table and wait for their consumer
    waiter,         \* output -> what its consumer is doing
    announced,      (* ghost *) \* batches that the worker has announced so far
    expected        (* ghost *) \* batches that the dispatcher has registered so far

table == <<splits, unsplit, registered, cached, waiter>>
ghosts == <<announced, expected>>
vars == <<inbox, pump, table, ghosts>>

None == "none"
Idle == [at |-> "idle", output |-> None]

TypeOK ==
    (* A set of ids: the worker announces a batch once. *)
    /\ inbox \subseteq Batches
    (* "unpacked": the batch is copied out of shared memory and not yet delivered. *)
    /\ pump \in [at : {"unpacked"}, output : Batches] \cup {Idle}
    (* A map goes when its batch is split. *)
    /\ splits \subseteq Batches
    (* A batch that came before its map. *)
    /\ unsplit \subseteq Batches
    (* At most one future an output. *)
    /\ registered \subseteq Outputs
    (* At most one copy an output. *)
    /\ cached \subseteq Outputs
    (* "absent": has not asked yet; "waiting": holds a future; "served": has the output. *)
    /\ waiter \in [Outputs -> {"absent", "waiting", "served"}]
    (* Histories: they only grow. *)
    /\ announced \subseteq Batches
    /\ expected \subseteq Batches

Init ==
    /\ inbox = {}
    /\ pump = Idle
    /\ splits = {}
    /\ unsplit = {}
    /\ registered = {}
    /\ cached = {}
    /\ waiter = [output \in Outputs |-> "absent"]
    /\ announced = {}
    /\ expected = {}

-------------------------------------------------------------------------------

(* Each part of the batch resolves its future, or is cached. *)
Deliver(batch) ==
    /\ waiter' = [output \in Outputs |->
                    IF output \in Parts[batch] \cap registered THEN "served" ELSE waiter[output]]
    /\ cached' = cached \cup (Parts[batch] \ registered)
    /\ registered' = registered \ Parts[batch]

(* The output thread announces a batch: OUTPUT_READY, on a lane of its own. *)
WorkerAnnounce(output) ==
    /\ output \notin announced
    /\ announced' = announced \cup {output}
    /\ inbox' = inbox \cup {output}
    /\ UNCHANGED <<pump, table, expected>>

(* The pump takes a batch and copies it out of shared memory; no lock is held. *)
PumpUnpack(output) ==
    /\ pump = Idle
    /\ output \in inbox
    /\ pump' = [at |-> "unpacked", output |-> output]
    /\ inbox' = inbox \ {output}
    /\ UNCHANGED <<table, ghosts>>

(* The pump splits the batch, or keeps it whole for the dispatcher: one critical section. *)
PumpTakeSplit(batch) ==
    /\ pump = [at |-> "unpacked", output |-> batch]
    /\ pump' = Idle
    /\ IF batch \in splits
       THEN Deliver(batch) /\ splits' = splits \ {batch} /\ UNCHANGED unsplit
       ELSE unsplit' = unsplit \cup {batch} /\ UNCHANGED <<splits, registered, cached, waiter>>
    /\ UNCHANGED <<inbox, ghosts>>

(* The dispatcher splits a batch that came early, or registers its map: one critical section. *)
DispatcherExpect(batch) ==
    /\ batch \notin expected
    /\ expected' = expected \cup {batch}
    /\ IF batch \in unsplit
       THEN Deliver(batch) /\ unsplit' = unsplit \ {batch} /\ UNCHANGED splits
       ELSE splits' = splits \cup {batch} /\ UNCHANGED <<unsplit, registered, cached, waiter>>
    /\ UNCHANGED <<inbox, pump, announced>>

(* The consumer takes the cached output, or registers a future: one critical section. *)
ConsumerWait(output) ==
    /\ waiter[output] = "absent"
    /\ waiter' = [waiter EXCEPT ![output] = IF output \in cached THEN "served" ELSE "waiting"]
    /\ registered' = IF output \in cached THEN registered ELSE registered \cup {output}
    /\ cached' = cached \ {output}
    /\ UNCHANGED <<inbox, pump, splits, unsplit, ghosts>>

-------------------------------------------------------------------------------

System ==
    \E batch \in Batches :
        WorkerAnnounce(batch) \/ PumpUnpack(batch) \/ PumpTakeSplit(batch) \/ DispatcherExpect(batch)
Env == \E output \in Outputs : ConsumerWait(output)

(* Everyone is served.  Any other state without a next step is a deadlock. *)
Terminating ==
    /\ \A output \in Outputs : waiter[output] = "served"
    /\ UNCHANGED vars

Next == System \/ Env \/ Terminating

Spec == Init /\ [][Next]_vars

(* The system's own steps happen sooner or later; nobody has to wait for an output. *)
FairSpec ==
    /\ Spec
    /\ \A batch \in Batches :
        /\ WF_vars(WorkerAnnounce(batch))
        /\ WF_vars(PumpUnpack(batch))
        /\ WF_vars(PumpTakeSplit(batch))
        /\ WF_vars(DispatcherExpect(batch))

-------------------------------------------------------------------------------

(* No output lies in the table, split or unsplit, while its consumer waits and its map is known. *)
NoStrandedOutputInv ==
    \A batch \in Batches : \A output \in Parts[batch] :
        waiter[output] = "waiting" => output \notin cached /\ batch \notin unsplit \cap expected

(* No batch stays whole once its split map is registered. *)
SecondComerSplitsInv == unsplit \cap splits = {}

(* Whoever waits has a future in the table, and nobody else has. *)
FuturesAreWaitersInv == \A output \in Outputs : output \in registered <=> waiter[output] = "waiting"

(* Once everybody is served, the table is empty. *)
NothingLeftInv ==
    (\A output \in Outputs : waiter[output] = "served") => splits \cup unsplit \cup registered \cup cached = {}

(* Whoever waits is served in the end. *)
EveryWaitServedProp == \A output \in Outputs : waiter[output] = "waiting" ~> waiter[output] = "served"
===============================================================================
