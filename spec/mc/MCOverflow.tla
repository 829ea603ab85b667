------------------------------ MODULE MCOverflow ------------------------------
(* Sizes, refinement, the historical overflow path that a Bug cfg swaps in,  *)
(* and probes.  A record holds a size of two; what is larger is large.       *)
EXTENDS Overflow

(* A small message, an empty one, one that is large only as a whole, and a large one. *)
AllSizes == <<<<1>>, <<>>, <<1, 1, 1>>, <<5>>>>
TwoLarge == <<<<3>>, <<3>>>>
LargeAndAggregate == <<<<3>>, <<1, 1, 1>>>>

(* Only what was sent counts, so it is numbered anew, without the messages whose sender was told Full.  For the
   same reason it is not claimed that all are sent; that all that are sent are taken, is. *)
Rank(message) == Cardinality({other \in 1..message : outcome[other] = "sent"})
Abs == INSTANCE Fifo WITH
    Writers <- {"writer"},
    sent <- [writer \in {"writer"} |-> Rank(Messages)],
    taken <- [writer \in {"writer"} |->
                [i \in DOMAIN got |-> IF got[i] = Whole(got[i][1].message) THEN Rank(got[i][1].message) ELSE 0]]
RefinesProp == Abs!FairReaderSpec

(* The overflow path, part of all three defects: the payload goes out of band. *)
PayloadWay_Bug(message) == "socket"

PublishOrDrop(dropped) ==
    /\ next.message \in Names
    /\ ways' = IF dropped THEN ways ELSE [ways EXCEPT ![NextWay] = Append(@, Record(next.message, next.published + 1))]
    /\ Advance
    /\ UNCHANGED <<reader, half, got>>

(* Defect lossy_overflow: the socket takes everything, and drops what it has no room for ... *)
WriterPublish_Bug ==
    /\ NextWay = "lane" => HasRoom
    /\ PublishOrDrop(~HasRoom)

(* ... and what nobody has subscribed to yet. *)
WriterPublish_SlowJoiner_Bug ==
    /\ HasRoom
    /\ PublishOrDrop(NextWay = "socket" /\ reader = "absent")

(* On the socket, nobody is ever told Full. *)
WriterGiveUp_Bug ==
    /\ next.message \in Names
    /\ NextWay = "lane" /\ ~HasRoom
    /\ outcome' = [outcome EXCEPT ![next.message] = "full"]
    /\ next' = [message |-> next.message + 1, published |-> 0]
    /\ UNCHANGED <<ways, reader, half, got>>

(* Defect timeout_consumes: the slot that was taken is gone when the wait for its payload times out. *)
ReaderTimeout_Bug ==
    /\ reader = "receiving"
    /\ ways[AwaitedWay] = <<>>
    /\ reader' = "idle"
    /\ half' = <<>>
    /\ UNCHANGED <<next, ways, outcome, got>>

(* Defect aggregate_overflow: large values do not go out of band, but who looks at values one by one finds none here. *)
PayloadWay_Aggregate_Bug(message) ==
    IF \A i \in DOMAIN Values[message] : Values[message][i] <= RecordSize THEN "socket" ELSE "lane"

(* Mutant taken_twice: what the reader takes stays where it was. *)
ReaderTake_Keeping ==
    /\ reader = "receiving"
    /\ ways[AwaitedWay] # <<>>
    /\ LET record == Head(ways[AwaitedWay])
           joined == (IF record.index = 1 THEN <<>> ELSE half) \o <<record>>
       IN  IF record.index = Count(record.message)
           THEN got' = Append(got, joined) /\ half' = <<>> /\ reader' = "idle"
           ELSE half' = joined /\ UNCHANGED <<got, reader>>
    /\ UNCHANGED <<next, outcome, ways>>

(* Mutant sent_and_refused: the send raises Full, though its last record is published. *)
Advance_Refusing ==
    IF next.published + 1 = Count(next.message)
    THEN /\ next' = [message |-> next.message + 1, published |-> 0]
         /\ outcome' = [outcome EXCEPT ![next.message] = "full"]
    ELSE /\ next' = [next EXCEPT !.published = @ + 1]
         /\ UNCHANGED outcome

(* Probes: each must fail, for the state that it denies is an interesting one. *)
(* No receive times out between slot and payload. *)
NeverTimedOutHalfwayInv == ~(reader = "idle" /\ half # <<>>)
(* The reader never holds a half whose sender was told Full. *)
NeverHalfOfRefusedInv == ~(half # <<>> /\ outcome[half[1].message] = "full")
===============================================================================
