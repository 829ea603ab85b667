---------------------------- MODULE MCFutureOrphan ----------------------------
(* Refinement, the historical behaviour that a Bug cfg swaps in, and probes.   *)
EXTENDS FutureOrphan

Abs == INSTANCE Delivery
RefinesProp == Abs!FairSpec

(* Defect unpack_outside_lock: the future is popped in a critical section of   *)
(* its own; then the lock is given back for the unpacking ...                  *)
PumpUnpack_Bug(output) ==
    /\ pump = Idle
    /\ output \in inbox
    /\ pump' = [at |-> IF output \in registered THEN "holding" ELSE "unpacked", output |-> output]
    /\ registered' = registered \ {output}
    /\ inbox' = inbox \ {output}
    /\ UNCHANGED <<cached, waiter>>

(* ... and what was popped then, or was not there then, decides now. *)
PumpDeliver_Bug(output) ==
    /\ pump.output = output
    /\ waiter' = [waiter EXCEPT ![output] = IF pump.at = "holding" THEN "served" ELSE @]
    /\ cached' = IF pump.at = "holding" THEN cached ELSE cached \cup {output}
    /\ pump' = Idle
    /\ UNCHANGED <<inbox, registered>>

(* Mutant kept_future: who takes a cached output leaves a future in the table. *)
ConsumerWait_KeepingFuture(output) ==
    /\ waiter[output] = "absent"
    /\ waiter' = [waiter EXCEPT ![output] = IF output \in cached THEN "served" ELSE "waiting"]
    /\ registered' = registered \cup {output}
    /\ cached' = cached \ {output}
    /\ UNCHANGED <<inbox, pump>>

(* Probes: each must fail, for the state that it denies is an interesting one. *)
(* No output is ever cached. *)
NeverCachedInv == cached = {}
(* No consumer waits while the pump has its output in hands. *)
NeverAwaitedInHandsInv == pump.output \notin registered
===============================================================================
