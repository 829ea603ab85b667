------------------------------- MODULE Overflow -------------------------------
(* Messages of several values, some too large for one record.  These are cut:*)
(* each value is a record, or several; what is sent together, the first of   *)
(* them is the slot, those behind it are the payload.  Grain: an action is   *)
(* one region of the code.  Nobody waits here: time-outs are 0, so that each *)
(* look decides, and whoever finds nothing, or no room, is told at once.     *)
(*                                                                           *)
(*   writer: claim, publish, record by record --> way --> reader: look, take *)
(*           or look again: Full                          or Timeout         *)
(*                                                                           *)
(* Historically the payload went another way, out of band: a socket that     *)
(* loses what nobody has subscribed to and what it has no room for, and whose*)
(* payloads do not say whose they are.  The design has one way, the lane.    *)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
    Messages,       \* how many messages the writer sends; their names are 1, 2, ...
    Values,         \* message -> the sizes of its values
    RecordSize,     \* the size that one record holds
    Ways,           \* the ways between writer and reader, of which the design uses the lane
    Room            \* way -> how many records there is room for

VARIABLES
    next,           \* the message that the writer sends, or sends next, and how many of its records it has published
    writer,         \* what the writer does next with its next record
    ways,           \* way -> the records on it, oldest first
    outcome,        \* message -> what its sender was told
    reader,         \* whether the reader is there
    seen,           \* how many records the reader has seen and not taken
    half,           \* the records that the reader has taken of a message that is not whole yet
    got             \* what receives have returned, in order: each a message, as the records it was put together from

vars == <<next, writer, ways, outcome, reader, seen, half, got>>

Names == 1..Messages

RECURSIVE Sum(_)
Sum(sizes) == IF sizes = <<>> THEN 0 ELSE Head(sizes) + Sum(Tail(sizes))

(* What fits is one record, whatever it is made of; else each value is one, or as many as its size asks for. *)
Size(message) == Sum(Values[message])
Pieces(size) == IF size = 0 THEN 1 ELSE (size + RecordSize - 1) \div RecordSize
Count == [message \in Names |->
    IF Size(message) <= RecordSize THEN 1
    ELSE Sum([i \in DOMAIN Values[message] |-> Pieces(Values[message][i])])]

Record(message, index) == [message |-> message, index |-> index]
Whole(message) == [index \in 1..Count[message] |-> Record(message, index)]
Records == UNION {{Record(message, index) : index \in 1..Count[message]} : message \in Names}
Completes(record) == record.index = Count[record.message]

(* Slot and payload go one way: this, and nothing else, keeps them together. *)
PayloadWay(message) == "lane"
WayOf(message, index) == IF index = 1 THEN "lane" ELSE PayloadWay(message)

TypeOK ==
    (* Behind the last message it points to one that does not come. *)
    /\ next \in [message : 1..(Messages + 1), published : Nat]
    (* "look": for room, once more, before it gives up. *)
    /\ writer \in {"claim", "look", "publish"}
    (* A record that has been taken is gone. *)
    /\ \A way \in Ways : ways[way] \in Seq(Records) /\ Len(ways[way]) <= Room[way]
    (* "none": not yet; "sent": send has returned; "full": it has raised Full. *)
    /\ outcome \in [Names -> {"none", "sent", "full"}]
    (* "absent": not attached yet; "done": nothing will come, and nothing is left. *)
    /\ reader \in {"absent", "there", "done"}
    (* Who has seen something takes it next. *)
    /\ seen \in Nat /\ (seen > 0 => reader = "there")
    (* The reader's own memory: it outlives a receive. *)
    /\ half \in Seq(Records)
    (* Never two in one place. *)
    /\ \A i \in DOMAIN got : got[i] \in Seq(Records)

Init ==
    /\ next = [message |-> 1, published |-> 0]
    /\ writer = "claim"
    /\ ways = [way \in Ways |-> <<>>]
    /\ outcome = [message \in Names |-> "none"]
    /\ reader = "absent"
    /\ seen = 0
    /\ half = <<>>
    /\ got = <<>>

-------------------------------------------------------------------------------

IsSending == next.message \in Names

(* The way that the writer's next record goes, and whether it has room for it. *)
NextWay == WayOf(next.message, next.published + 1)
HasRoom == Len(ways[NextWay]) < Room[NextWay]

(* The writer goes on to its next record; behind a message's last one, the send has returned. *)
Advance ==
    IF next.published + 1 = Count[next.message]
    THEN /\ next' = [message |-> next.message + 1, published |-> 0]
         /\ outcome' = [outcome EXCEPT ![next.message] = "sent"]
    ELSE /\ next' = [next EXCEPT !.published = @ + 1]
         /\ UNCHANGED outcome

(* The writer looks for room for the next record of its message: once there is room it does not go away. *)
WriterClaim ==
    /\ IsSending /\ writer = "claim"
    /\ writer' = IF HasRoom THEN "publish" ELSE "look"
    /\ UNCHANGED <<next, ways, outcome, reader, seen, half, got>>

(* It looks once more.  If there is no room still, the send raises Full, and the message is over, even half-way. *)
WriterLook ==
    /\ IsSending /\ writer = "look"
    /\ writer' = "claim"
    /\ IF HasRoom
       THEN UNCHANGED <<next, outcome>>
       ELSE /\ outcome' = [outcome EXCEPT ![next.message] = "full"]
            /\ next' = [message |-> next.message + 1, published |-> 0]
    /\ UNCHANGED <<ways, reader, seen, half, got>>

(* It publishes the record. *)
WriterPublish ==
    /\ IsSending /\ writer = "publish"
    /\ ways' = [ways EXCEPT ![NextWay] = Append(@, Record(next.message, next.published + 1))]
    /\ writer' = "claim"
    /\ Advance
    /\ UNCHANGED <<reader, seen, half, got>>

(* The reader attaches, early or late: what was published before is there. *)
ReaderJoin ==
    /\ reader = "absent"
    /\ reader' = "there"
    /\ UNCHANGED <<next, writer, ways, outcome, seen, half, got>>

(* The way on which the reader's next record must come. *)
AwaitedWay == IF half = <<>> THEN "lane" ELSE PayloadWay(half[1].message)

(* How many of the records on a way a look sees; and a second one, at once, behind a take that made nothing whole. *)
Seen(records) == Len(records)
SeenAtOnce(records) == Len(records)

(* The reader looks.  Where there is nothing the receive raises Timeout, and has changed nothing: the caller receives
   anew, unless the writer had told it before that nothing more comes. *)
ReaderLook ==
    /\ reader = "there" /\ seen = 0
    /\ seen' = Seen(ways[AwaitedWay])
    /\ reader' = IF seen' = 0 /\ ~IsSending THEN "done" ELSE reader
    /\ UNCHANGED <<next, writer, ways, outcome, half, got>>

(* Up to the end of a message, if that was seen. *)
Upto(records) ==
    LET ends == {i \in DOMAIN records : Completes(records[i])}
    IN  IF ends = {} THEN Len(records) ELSE CHOOSE i \in ends : \A other \in ends : i <= other

(* A first record drops the half before it, whose sender was told Full. *)
RECURSIVE Join(_, _)
Join(begun, records) ==
    IF records = <<>> THEN begun
    ELSE Join((IF Head(records).index = 1 THEN <<>> ELSE begun) \o <<Head(records)>>, Tail(records))

(* What stays on a way of which so many records are taken. *)
Left(records, upto) == SubSeq(records, upto + 1, Len(records))

(* The reader takes what it has seen, as far as one message goes.  A last record makes it whole, and the receive returns
   it; else the receive looks again at once. *)
ReaderTake ==
    /\ reader = "there" /\ seen > 0
    /\ LET records == ways[AwaitedWay]
           upto == Upto(SubSeq(records, 1, seen))
           left == Left(records, upto)
           joined == Join(half, SubSeq(records, 1, upto))
       IN  /\ ways' = [ways EXCEPT ![AwaitedWay] = left]
           /\ IF Completes(joined[Len(joined)])
              THEN got' = Append(got, joined) /\ half' = <<>> /\ seen' = seen - upto
              ELSE half' = joined /\ seen' = SeenAtOnce(left) /\ UNCHANGED got
    /\ UNCHANGED <<next, writer, outcome, reader>>

-------------------------------------------------------------------------------

Writer == WriterClaim \/ WriterLook \/ WriterPublish
Reader == ReaderLook \/ ReaderTake

System == Writer \/ Reader
Env == ReaderJoin

(* Every message has its outcome, and nothing is left to take.  Any other state without a next step is a deadlock. *)
Terminating ==
    /\ ~IsSending
    /\ reader = "done"
    /\ UNCHANGED vars

Next == System \/ Env \/ Terminating

Spec == Init /\ [][Next]_vars

(* Writer and reader go on, each by the one step that it has, and the reader attaches sooner or later. *)
FairSpec == Spec /\ WF_vars(Writer) /\ WF_vars(Reader) /\ WF_vars(Env)

-------------------------------------------------------------------------------

(* The messages that were received whole and unaltered. *)
Received == {message \in Names : \E i \in DOMAIN got : got[i] = Whole(message)}

(* A message that was sent was received, or all its records are with the reader or on their way. *)
NoMessageLostInv ==
    \A message \in Names : outcome[message] = "sent" =>
        \/ message \in Received
        \/ \A index \in 1..Count[message] :
            \/ \E i \in DOMAIN half : half[i] = Record(message, index)
            \/ \E way \in Ways : \E i \in DOMAIN ways[way] : ways[way][i] = Record(message, index)

(* Whatever is received is one whole message: no slot ever gets the payload of another. *)
UnalteredInv == \A i \in DOMAIN got : \E message \in Names : got[i] = Whole(message)

(* Messages are received in the order of their sending, each once. *)
InOrderOnceInv == \A later \in DOMAIN got : \A i \in 1..(later - 1) : got[i][1].message < got[later][1].message

(* What is received was sent: a message whose sender was told Full is never seen. *)
ReceivedWasSentInv == \A i \in DOMAIN got : outcome[got[i][1].message] = "sent"

(* Every send ends, and what was sent is received in the end; neither is ever undone. *)
EveryMessageArrivesProp == <>(\A message \in Names : outcome[message] = "full" \/ message \in Received)
===============================================================================
