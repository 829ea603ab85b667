------------------------------- MODULE Overflow -------------------------------
(* Messages of several values, some too large for one record.  These are cut:*)
(* the first record is the slot, those behind it are the payload.  Grain: an *)
(* action is one region of the code, or one decision of a caller.            *)
(*                                                                           *)
(*   writer: publish record by record --> way --> reader: take, put together *)
(*           or give up: Full                     or give up: Timeout        *)
(*                                                                           *)
(* Historically the payload went another way, out of band: a socket that     *)
(* loses what nobody has subscribed to and what it has no room for, and whose*)
(* payloads do not say whose they are.  The design has one way, the lane.    *)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
    Messages,       \* how many messages the writer sends; their names are 1, 2, ...
    Values,         \* message -> the sizes of its values
    RecordSize,     \* the size that one record holds
    Ways,           \* the ways between writer and reader
    Room            \* how many records there is room for on each way

VARIABLES
    next,           \* the message that the writer sends, or sends next, and how many of its records it has published
    ways,           \* way -> the records on it, oldest first
    outcome,        \* message -> what its sender was told
    reader,         \* "absent": not attached yet; "idle": between two receives; "receiving": in one
    half,           \* the records that the reader has taken of a message that is not whole yet
    got             \* what receives have returned, in order: each a message, as the records it was put together from

vars == <<next, ways, outcome, reader, half, got>>

Names == 1..Messages

RECURSIVE Sum(_)
Sum(sizes) == IF sizes = <<>> THEN 0 ELSE Head(sizes) + Sum(Tail(sizes))

(* A message takes as many records as its size asks for: that of all its values together. *)
Size(message) == Sum(Values[message])
Count(message) == IF Size(message) = 0 THEN 1 ELSE (Size(message) + RecordSize - 1) \div RecordSize

Record(message, index) == [message |-> message, index |-> index]
Whole(message) == [index \in 1..Count(message) |-> Record(message, index)]
Records == UNION {{Record(message, index) : index \in 1..Count(message)} : message \in Names}

(* Slot and payload go one way: this, and nothing else, keeps them together. *)
PayloadWay(message) == "lane"
WayOf(message, index) == IF index = 1 THEN "lane" ELSE PayloadWay(message)

TypeOK ==
    (* Behind the last message it points to one that does not come. *)
    /\ next \in [message : 1..(Messages + 1), published : Nat]
    (* A record that has been taken is gone. *)
    /\ \A way \in Ways : ways[way] \in Seq(Records) /\ Len(ways[way]) <= Room
    (* "none": not yet; "sent": send has returned; "full": it has raised Full. *)
    /\ outcome \in [Names -> {"none", "sent", "full"}]
    (* Receives follow one another: the reader is one thread. *)
    /\ reader \in {"absent", "idle", "receiving"}
    (* The reader's own memory: it outlives a receive. *)
    /\ half \in Seq(Records)
    (* Never two in one place. *)
    /\ \A i \in DOMAIN got : got[i] \in Seq(Records)

Init ==
    /\ next = [message |-> 1, published |-> 0]
    /\ ways = [way \in Ways |-> <<>>]
    /\ outcome = [message \in Names |-> "none"]
    /\ reader = "absent"
    /\ half = <<>>
    /\ got = <<>>

-------------------------------------------------------------------------------

(* The way that the writer's next record goes, and whether it has room for it. *)
NextWay == WayOf(next.message, next.published + 1)
HasRoom == Len(ways[NextWay]) < Room

(* The writer goes on to its next record; behind a message's last one, the send has returned. *)
Advance ==
    IF next.published + 1 = Count(next.message)
    THEN /\ next' = [message |-> next.message + 1, published |-> 0]
         /\ outcome' = [outcome EXCEPT ![next.message] = "sent"]
    ELSE /\ next' = [next EXCEPT !.published = @ + 1]
         /\ UNCHANGED outcome

(* The writer publishes the next record of its message, when there is room. *)
WriterPublish ==
    /\ next.message \in Names
    /\ HasRoom
    /\ ways' = [ways EXCEPT ![NextWay] = Append(@, Record(next.message, next.published + 1))]
    /\ Advance
    /\ UNCHANGED <<reader, half, got>>

(* No room came free before the deadline: the send raises Full, and the message is over, even half-way. *)
WriterGiveUp ==
    /\ next.message \in Names
    /\ ~HasRoom
    /\ outcome' = [outcome EXCEPT ![next.message] = "full"]
    /\ next' = [message |-> next.message + 1, published |-> 0]
    /\ UNCHANGED <<ways, reader, half, got>>

(* The reader attaches, early or late: what was published before is there. *)
ReaderJoin ==
    /\ reader = "absent"
    /\ reader' = "idle"
    /\ UNCHANGED <<next, ways, outcome, half, got>>

(* A caller receives. *)
ReaderReceive ==
    /\ reader = "idle"
    /\ reader' = "receiving"
    /\ UNCHANGED <<next, ways, outcome, half, got>>

(* The way on which the reader's next record must come. *)
AwaitedWay == IF half = <<>> THEN "lane" ELSE PayloadWay(half[1].message)

(* The reader takes the next record.  A first one drops the half before it, whose sender was told Full;
   a last one makes the message whole, and the receive returns it. *)
ReaderTake ==
    /\ reader = "receiving"
    /\ ways[AwaitedWay] # <<>>
    /\ LET record == Head(ways[AwaitedWay])
           joined == (IF record.index = 1 THEN <<>> ELSE half) \o <<record>>
       IN  IF record.index = Count(record.message)
           THEN got' = Append(got, joined) /\ half' = <<>> /\ reader' = "idle"
           ELSE half' = joined /\ UNCHANGED <<got, reader>>
    /\ ways' = [ways EXCEPT ![AwaitedWay] = Tail(@)]
    /\ UNCHANGED <<next, outcome>>

(* Nothing came before the deadline: the receive raises Timeout, and has changed nothing. *)
ReaderTimeout ==
    /\ reader = "receiving"
    /\ ways[AwaitedWay] = <<>>
    /\ reader' = "idle"
    /\ UNCHANGED <<next, ways, outcome, half, got>>

-------------------------------------------------------------------------------

System == WriterPublish \/ WriterGiveUp \/ ReaderTake \/ ReaderTimeout
Env == ReaderJoin \/ ReaderReceive

(* Every message has its outcome, and nothing is left to take.  Any other state without a next step is a deadlock. *)
Terminating ==
    /\ next.message \notin Names
    /\ reader # "absent"
    /\ \A way \in Ways : ways[way] = <<>>
    /\ UNCHANGED vars

Next == System \/ Env \/ Terminating

Spec == Init /\ [][Next]_vars

(* Writer and reader go on, deadlines pass, and the reader attaches and receives sooner or later. *)
FairSpec ==
    /\ Spec
    /\ WF_vars(WriterPublish) /\ WF_vars(WriterGiveUp)
    /\ WF_vars(ReaderJoin) /\ WF_vars(ReaderReceive) /\ WF_vars(ReaderTake) /\ WF_vars(ReaderTimeout)

-------------------------------------------------------------------------------

(* The messages that were received whole and unaltered. *)
Received == {message \in Names : \E i \in DOMAIN got : got[i] = Whole(message)}

(* A message that was sent was received, or all its records are with the reader or on their way. *)
NoMessageLostInv ==
    \A message \in Names : outcome[message] = "sent" =>
        \/ message \in Received
        \/ \A index \in 1..Count(message) :
            \/ \E i \in DOMAIN half : half[i] = Record(message, index)
            \/ \E way \in Ways : \E i \in DOMAIN ways[way] : ways[way][i] = Record(message, index)

(* Whatever is received is one whole message: no slot ever gets the payload of another. *)
UnalteredInv == \A i \in DOMAIN got : \E message \in Names : got[i] = Whole(message)

(* Messages are received in the order of their sending, each once. *)
InOrderOnceInv == \A later \in DOMAIN got : \A i \in 1..(later - 1) : got[i][1].message < got[later][1].message

(* What is received was sent: a message whose sender was told Full is never seen. *)
ReceivedWasSentInv == \A i \in DOMAIN got : outcome[got[i][1].message] = "sent"

(* Every send ends, and what was sent is received in the end. *)
EveryMessageArrivesProp ==
    \A message \in Names : <>(outcome[message] = "full" \/ message \in Received)
===============================================================================
