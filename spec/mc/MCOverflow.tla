------------------------------ MODULE MCOverflow ------------------------------
(* Sizes, refinement, the historical overflow path that a Bug cfg swaps in,  *)
(* and probes.  A record holds a size of two; what is larger is large.       *)
EXTENDS Overflow

(* A small message, an empty one, one that is large only as a whole, and a large one. *)
AllSizes == <<<<1>>, <<>>, <<1, 1, 1>>, <<5>>>>
TwoLarge == <<<<3>>, <<3>>>>
Narrow == [way \in Ways |-> 2]
Narrowest == [way \in Ways |-> 1]

(* What the code sends, with the defects and without: the first value is the message itself, those beside it are arrays.
   One that is large only as a whole, one with a large array, and a small one. *)
Sizes == <<<<1, 1, 1>>, <<1, 3>>, <<1>>>>
FourAndOne == [way \in Ways |-> IF way = "socket" THEN 1 ELSE 4]

(* Only what was sent counts, so it is numbered anew, without the messages whose sender was told Full.  For the
   same reason it is not claimed that all are sent; that all that are sent are taken, is. *)
Rank(message) == Cardinality({other \in 1..message : outcome[other] = "sent"})
Abs == INSTANCE Fifo WITH
    Writers <- {"writer"},
    sent <- [who \in {"writer"} |-> Rank(Messages)],
    taken <- [who \in {"writer"} |->
                [i \in DOMAIN got |-> IF got[i] = Whole(got[i][1].message) THEN Rank(got[i][1].message) ELSE 0]]
RefinesProp == Abs!FairReaderSpec

(* The overflow path, part of all three defects: what is too large for a slot goes out of band, and all of it is one
   payload.  There are slots for everything, and a socket takes all that comes; and the reader takes one at a time. *)
PayloadWay_Bug(message) == "socket"
Count_Bug == [message \in Names |-> IF Size(message) <= RecordSize THEN 1 ELSE 2]
HasRoom_Bug == TRUE
Seen_Bug(records) == IF records = <<>> THEN 0 ELSE 1
SeenAtOnce_Bug(records) == 0

(* Defect timeout_consumes: the slot that was taken is gone when the wait for its payload times out.  Whoever goes out of
   band has it. *)
ReaderLook_Bug ==
    /\ reader = "there" /\ seen = 0
    /\ seen' = Seen(ways[AwaitedWay])
    /\ reader' = IF seen' = 0 /\ ~IsSending THEN "done" ELSE reader
    /\ half' = IF seen' = 0 THEN <<>> ELSE half
    /\ UNCHANGED <<next, writer, ways, outcome, got>>

(* Defect lossy_overflow: the socket drops what nobody has subscribed to, and what it has no room for; nobody is told. *)
IsDropped == NextWay = "socket" /\ (reader = "absent" \/ Len(ways.socket) = Room.socket)
WriterPublish_Bug ==
    /\ IsSending /\ writer = "publish"
    /\ ways' = IF IsDropped
               THEN ways
               ELSE [ways EXCEPT ![NextWay] = Append(@, Record(next.message, next.published + 1))]
    /\ writer' = "claim"
    /\ Advance
    /\ UNCHANGED <<reader, seen, half, got>>

(* For want of room alone: the reader has subscribed in time. *)
WriterPublish_InTime_Bug == (NextWay = "socket" => reader # "absent") /\ WriterPublish_Bug

(* Defect aggregate_overflow: large values are set aside, so that the slot holds the rest; but who looks at values one by
   one finds none where they are large only together. *)
IsSetAside(message) == \E i \in DOMAIN Values[message] : Values[message][i] > RecordSize
Count_Aggregate_Bug == [message \in Names |-> IF IsSetAside(message) \/ Size(message) <= RecordSize THEN 1 ELSE 2]

(* Mutant taken_twice: what the reader takes stays where it was. *)
Left_Keeping(records, upto) == records

(* Mutant sent_and_refused: the send raises Full, though its last record is published. *)
Advance_Refusing ==
    IF next.published + 1 = Count[next.message]
    THEN /\ next' = [message |-> next.message + 1, published |-> 0]
         /\ outcome' = [outcome EXCEPT ![next.message] = "full"]
    ELSE /\ next' = [next EXCEPT !.published = @ + 1]
         /\ UNCHANGED outcome

(* Probes: each must fail, for the state that it denies is an interesting one. *)
(* No receive finds nothing between slot and payload. *)
NeverTimedOutHalfwayInv == ~(reader = "there" /\ seen = 0 /\ half # <<>> /\ ways[AwaitedWay] = <<>>)
(* The reader never holds a half whose sender was told Full. *)
NeverHalfOfRefusedInv == ~(half # <<>> /\ outcome[half[1].message] = "full")
===============================================================================
