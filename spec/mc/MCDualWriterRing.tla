--------------------------- MODULE MCDualWriterRing ---------------------------
(* Refinement, the historical behaviour that a Bug cfg swaps in, and probes.   *)
EXTENDS DualWriterRing

Abs == INSTANCE Fifo
RefinesProp == Abs!FairSpec

(* Defect dual_writers: the output thread writes to the ring of the main loop. *)
RingOf_Bug(writer) == "worker.main"

(* Mutant taken_twice: the reader hands a record on twice. *)
ReaderTake_Twice(ring) ==
    /\ read[ring] # write[ring]
    /\ LET record == cells[ring][read[ring]]
       IN taken' = [taken EXCEPT ![record[1]] = Append(Append(@, record[2]), record[2])]
    /\ read' = [read EXCEPT ![ring] = @ + 1]
    /\ UNCHANGED <<claim, sent, cells, write>>

(* Probes: each must fail, for the state that it denies is an interesting one. *)
(* No two writers are between claim and publish at the same time. *)
NeverBothClaimedInv == \E writer \in Writers : claim[writer] = 0
(* No record lies behind another one in a ring. *)
NeverQueuedInv == \A ring \in Rings : write[ring] - read[ring] < 2
===============================================================================
