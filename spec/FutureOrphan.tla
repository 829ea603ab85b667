----------------------------- MODULE FutureOrphan -----------------------------
(* Outputs that arrive at the pump one by one, and the consumers that wait for *)
(* them.  Code grain: an action is one critical section of the output table,   *)
(* or one step outside its lock, and bears the name of its region in the code: *)
(* PumpDeliver here is "Pump.Deliver" there.                                   *)
(*                                                                             *)
(*   worker --announce--> inbox --unpack--> pump --deliver--> future or cache  *)
(*                                                            consumer: wait   *)

CONSTANT
    Outputs         \* ids of the outputs; each is announced once, and waited for at most once

VARIABLES
    inbox,          \* outputs announced by the worker and not yet taken by the pump
    pump,           \* where the pump is, and the output in its hands
    registered,     \* outputs with a future in the table
    cached,         \* outputs that lie in the table and wait for their consumer
    waiter          \* output -> what its consumer is doing

vars == <<inbox, pump, registered, cached, waiter>>

None == "none"
Idle == [at |-> "idle", output |-> None]

TypeOK ==
    (* A set of ids: the worker announces an output once. *)
    /\ inbox \subseteq Outputs
    (* "unpacked": the output is copied out of shared memory and not yet delivered. *)
    /\ pump \in [at : {"unpacked"}, output : Outputs] \cup {Idle}
    (* At most one future an output. *)
    /\ registered \subseteq Outputs
    (* At most one copy an output. *)
    /\ cached \subseteq Outputs
    (* "absent": has not asked yet; "waiting": holds a future; "served": has the output. *)
    /\ waiter \in [Outputs -> {"absent", "waiting", "served"}]

Init ==
    /\ inbox = {}
    /\ pump = Idle
    /\ registered = {}
    /\ cached = {}
    /\ waiter = [output \in Outputs |-> "absent"]

-------------------------------------------------------------------------------

(* The output thread announces an output that it has not announced before. *)
WorkerAnnounce(output) ==
    /\ output \notin inbox
    /\ output # pump.output
    /\ output \notin cached
    /\ waiter[output] # "served"
    /\ inbox' = inbox \cup {output}
    /\ UNCHANGED <<pump, registered, cached, waiter>>

(* The pump takes an output and copies it out of shared memory; no lock is held. *)
PumpUnpack(output) ==
    /\ pump = Idle
    /\ output \in inbox
    /\ pump' = [at |-> "unpacked", output |-> output]
    /\ inbox' = inbox \ {output}
    /\ UNCHANGED <<registered, cached, waiter>>

(* The pump resolves the future, or caches the output: one critical section. *)
PumpDeliver(output) ==
    /\ pump = [at |-> "unpacked", output |-> output]
    /\ waiter' = [waiter EXCEPT ![output] = IF output \in registered THEN "served" ELSE @]
    /\ cached' = IF output \in registered THEN cached ELSE cached \cup {output}
    /\ registered' = registered \ {output}
    /\ pump' = Idle
    /\ UNCHANGED inbox

(* The consumer takes the cached output, or registers a future: one critical section. *)
ConsumerWait(output) ==
    /\ waiter[output] = "absent"
    /\ waiter' = [waiter EXCEPT ![output] = IF output \in cached THEN "served" ELSE "waiting"]
    /\ registered' = IF output \in cached THEN registered ELSE registered \cup {output}
    /\ cached' = cached \ {output}
    /\ UNCHANGED <<inbox, pump>>

-------------------------------------------------------------------------------

System == \E output \in Outputs : WorkerAnnounce(output) \/ PumpUnpack(output) \/ PumpDeliver(output)
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
    /\ \A output \in Outputs :
        /\ WF_vars(WorkerAnnounce(output))
        /\ WF_vars(PumpUnpack(output))
        /\ WF_vars(PumpDeliver(output))

-------------------------------------------------------------------------------

(* No output lies in the cache while its consumer waits for it. *)
NoStrandedOutputInv == \A output \in cached : waiter[output] # "waiting"

(* Whoever waits has a future in the table, and nobody else has. *)
FuturesAreWaitersInv == \A output \in Outputs : output \in registered <=> waiter[output] = "waiting"

(* Whoever waits is served in the end. *)
EveryWaitServedProp == \A output \in Outputs : waiter[output] = "waiting" ~> waiter[output] = "served"
===============================================================================
