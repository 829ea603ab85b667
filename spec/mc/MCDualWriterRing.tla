--------------------------- MODULE MCDualWriterRing ---------------------------
(* Refinement, the historical behaviour that a Bug cfg swaps in, and probes.   *)
EXTENDS DualWriterRing

Abs == INSTANCE Fifo
RefinesProp == Abs!FairSpec

(* Defect dual_writers: the output thread writes to the ring of the main loop. *)
RingOf_Bug(writer) == "worker.main"

(* Probes: each must fail, for the state that it denies is an interesting one. *)
(* No two writers are between claim and publish at the same time. *)
NeverBothClaimedInv == \E writer \in Writers : claim[writer] = 0
(* No record lies behind another one in a ring. *)
NeverQueuedInv == \A ring \in Rings : write[ring] - read[ring] < 2
===============================================================================
