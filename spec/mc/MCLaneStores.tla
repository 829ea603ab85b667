----------------------------- MODULE MCLaneStores -----------------------------
(* Fences that a Bug cfg takes away, and a probe; the rest is that of Lane.    *)
EXTENDS MCLane, LaneStores

(* Defect missing_release_fence, of ReleaseFence: on AArch64 the position may overtake the body.  Defect
   missing_writer_fence, of RingerFence: who rings looks at the flag while what it rings for is still in its buffer.
   Defect missing_reader_fence, of SleeperFence: who sleeps looks again while its flag is still in its buffer. *)
NoFence(side) == TRUE

(* Probes: each must fail, for the state that it denies is an interesting one. *)
(* The writer never rings before its position has reached memory. *)
NeverLateInv == ~(at.writer = "ring" /\ memory[WritePosition] < claim)
===============================================================================
