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

(* Probes: each must fail, for the state that it denies is an interesting one. *)
(* No batch arrives before its split map. *)
NeverEarlyInv == unsplit = {}
(* No batch arrives after its split map. *)
NeverLateInv == pump.output \notin splits
(* No output is ever cached. *)
NeverCachedInv == cached = {}
===============================================================================
