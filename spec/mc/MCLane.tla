-------------------------------- MODULE MCLane --------------------------------
(* Refinement, defects that a Bug cfg swaps in, and probes.                  *)
EXTENDS Lane

(* The lane is a queue of one writer, for what is sent from the beginning on; a half that is another record's is no
   number. *)
Crossed == SubSeq(taken, Sent + 1, Len(taken))
Abs == INSTANCE Fifo WITH
    Writers <- {"writer"},
    Messages <- Records - Sent,
    sent <- [writer \in {"writer"} |-> Load("writer", WritePosition) - Sent],
    taken <- [writer \in {"writer"} |->
                [i \in DOMAIN Crossed |-> IF Crossed[i][1] = Crossed[i][2] THEN Crossed[i][1] - Sent ELSE 0]]
RefinesProp == Abs!FairSpec

(* Everything that must happen in the end. *)
LiveProp == EveryRecordTakenProp /\ EverySideEndsProp

(* Defect publish_before_body: the position is stored first, and the body behind it. *)
Then_BodyLast == [claim |-> "count", count |-> "advance", advance |-> "head", head |-> "tail", tail |-> "ring"]

(* Defect position_before_count: more is taken than was written, for ever if the writer is killed at that moment. *)
Then_CountLast == [claim |-> "head", head |-> "tail", tail |-> "advance", advance |-> "count", count |-> "ring"]

(* Defect lost_wakeup: the sleeper looks again first, and raises its flag when it has seen nothing. *)
Rest_LookFirst == [found |-> "look again", look |-> "park", park |-> "sleep"]

(* Defect sleeps_on: the sleeper takes the end of its bound for a spurious wake-up, and sleeps on until it is rung. *)
AtBound_Spurious == "sleep"

(* Defect death_before_drain: who hears of the death gives up at once, and does not look again. *)
ReaderAsk_Bug ==
    /\ at.reader = "ask"
    /\ Go("reader", IF IsDead("writer") THEN "told" ELSE Rest.found)
    /\ SystemCall("reader")
    /\ UNCHANGED <<order, claim, free, seen, taken, due, learnt>>

(* Mutant no_room_asked_for: the writer claims a place that the reader has not given back. *)
HasRoom_Unasked == TRUE

(* Mutant closed_at_once: a side that has done its part closes, whatever the other one has taken. *)
HasAcknowledgement_Unasked == TRUE

(* Probes: each must fail, for the state that it denies is an interesting one. *)
(* The reader is never parked while something is published. *)
NeverParkedBesideRecordInv == ~(memory[Parked("reader")] = 1 /\ memory[WritePosition] > Len(taken))
(* No writer dies between the body and the position. *)
NeverDeadUnpublishedInv ==
    ~(at.writer = "dead" /\ \E number \in (memory[WritePosition] + 1)..Records :
        memory[Half("tail", PlaceOf(number))] = number)
(* No writer sleeps because the ring is full. *)
NeverFullInv == ~(at.writer = "asleep" /\ claim < Records)
===============================================================================
