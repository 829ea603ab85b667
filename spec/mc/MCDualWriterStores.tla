-------------------------- MODULE MCDualWriterStores --------------------------
(* Refinement, defects that a Bug cfg swaps in, and probes.                    *)
EXTENDS DualWriterStores

(* How much the two send. *)
Two == [writer \in Writers |-> 2]
TwoAndOne == [writer \in Writers |-> IF writer = "worker.main" THEN 2 ELSE 1]

(* A message is published, to the eyes of DualWriterRing, when its last store has reached memory. *)
IsOnItsWay(writer) == at[writer] # "claim" \/ stores[writer] # <<>>
Published(writer) == IF at[writer] = "claim" /\ IsOnItsWay(writer) THEN sent[writer] - 1 ELSE sent[writer]
Abs == INSTANCE DualWriterRing WITH
    Messages <- Cardinality(Numbers),
    claim <- [writer \in Writers |-> IF IsOnItsWay(writer) THEN claim[writer].place ELSE 0],
    sent <- [writer \in Writers |-> Published(writer)],
    cells <- [ring \in Rings |->
        [place \in Places |-> IF place < write[ring] THEN MessageAt(ring, place) ELSE NoRecord]],
    taken <- [writer \in Writers |-> TakenFrom(writer, writer)]
RefinesProp == Abs!FairSpec

(* Defect missing_release_fence: words are stored as bytes are, and on AArch64 the position may overtake the record. *)
Releases_Bug(cell) == FALSE

(* Defect dual_writers: the output thread writes to the ring of the main loop. *)
RingOf_Bug(writer) == "worker.main"

(* Probes: each must fail, for the state that it denies is an interesting one. *)
(* No record is in memory whose position is not. *)
NeverUnseenInv == \A writer \in Writers : at[writer] = "claim" => stores[writer] = <<>>
===============================================================================
