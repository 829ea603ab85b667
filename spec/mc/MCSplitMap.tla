------------------------------ MODULE MCSplitMap ------------------------------
(* Bounds, refinement, the historical behaviour that a Bug cfg swaps in, and   *)
(* probes.                                                                     *)
EXTENDS SplitMap, TLC

OneBatch == "1" :> {"1/1", "1/2"}
TwoBatches == "1" :> {"1/1", "1/2"} @@ "2" :> {"2/1"}

Abs == INSTANCE Delivery
RefinesProp == Abs!FairSpec

(* Defect late_split_map: the dispatcher registers the map and looks no further. *)
DispatcherExpect_Bug(batch) ==
    /\ batch \notin expected
    /\ expected' = expected \cup {batch}
    /\ splits' = splits \cup {batch}
    /\ UNCHANGED <<inbox, pump, unsplit, registered, cached, waiter, announced>>

(* Mutant kept_future: who takes a cached output leaves a future in the table. *)
ConsumerWait_KeepingFuture(output) ==
    /\ waiter[output] = "absent"
    /\ waiter' = [waiter EXCEPT ![output] = IF output \in cached THEN "served" ELSE "waiting"]
    /\ registered' = registered \cup {output}
    /\ cached' = cached \ {output}
    /\ UNCHANGED <<inbox, pump, splits, unsplit, ghosts>>

(* Mutant kept_copy: who takes a cached output leaves it there. *)
ConsumerWait_KeepingCopy(output) ==
    /\ waiter[output] = "absent"
    /\ waiter' = [waiter EXCEPT ![output] = IF output \in cached THEN "served" ELSE "waiting"]
    /\ registered' = IF output \in cached THEN registered ELSE registered \cup {output}
    /\ UNCHANGED <<inbox, pump, splits, unsplit, cached, ghosts>>

(* Probes: each must fail, for the state that it denies is an interesting one. *)
(* No batch arrives before its split map. *)
NeverEarlyInv == unsplit = {}
(* No batch arrives after its split map. *)
NeverLateInv == pump.output \notin splits
(* No output is ever cached. *)
NeverCachedInv == cached = {}
===============================================================================
