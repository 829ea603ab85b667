--------------------------------- MODULE Lane ---------------------------------
(* One writer, one reader, and between them a ring in shared memory.  Grain: *)
(* an action is one access to what both share, or one system call; a fence   *)
(* is a guard on the access behind it.  Regions of the code are made of      *)
(* these; a world of the lane opens the larger ones (scenarios/lane.py):     *)
(*                                                                           *)
(*   Writer.Claim    WriterClaim         Reader.Look    ReaderLook           *)
(*   Writer.Look     WriterLook          no region      ReaderAsk,           *)
(*   Writer.Publish  WriterWrite twice,                 ReaderReview         *)
(*                   WriterCount,        Reader.Take    ReaderRead,          *)
(*                   WriterAdvance,                     ReaderCount,         *)
(*                   Bell.Ring                          ReaderConsume,       *)
(*   Bell.Ring       RingerLook,                        Bell.Ring            *)
(*                   RingerLower,        Bell.Park      SleeperPark,         *)
(*                   RingerWake                         SleeperLook          *)
(*                                       no region      the other Sleeper    *)
(*                                                      steps                *)
(*                                                                           *)
(* The last record is END: the reader takes it and is done, and that it was  *)
(* counted tells the writer that all was taken.                              *)
(*                                                                           *)
(* Memory orders: "SC", a store is seen at once; "TSO" (x86-64), stores wait *)
(* in a buffer, first in, first out; "WEAK" (AArch64), in a buffer that they *)
(* leave in any order.  Loads take effect in program order: that AArch64     *)
(* needs the fence behind a load is not shown here.                          *)
EXTENDS Naturals, Sequences

CONSTANTS
    Sides,          \* "writer" and "reader"
    Orders,         \* the memory orders that the machine may have
    Mortal,         \* the sides of which one may be killed, at any step
    Records,        \* how many records are sent, END included
    Sent,           \* how many of them lie in the ring at the beginning
    Places          \* how many of them the ring holds

ASSUME SidesAreTwo == Sides = {"writer", "reader"} /\ Mortal \subseteq Sides
ASSUME SentLieInTheRing == Sent \in 0..Places /\ Sent < Records
ASSUME OrdersAreKnown == Orders \subseteq {"SC", "TSO", "WEAK"}

VARIABLES
    order,          (* ghost *) \* the memory order of this machine
    memory,         \* cell -> what lies there, for all to see
    stores,         (* ghost *) \* side -> its stores that have not reached memory, oldest first
    at,             \* side -> what it does next, or how it ended
    claim,          \* the number of the record that the writer has in hands, or wrote last
    free,           \* up to which record there was room when the writer last asked for it
    seen,           \* how many records were published when the reader last looked
    taken,          \* the records that the reader copied out, as <<head, tail>>
    due,            \* side -> whether it asks the kernel for the other one when it next finds nothing
    learnt          \* whether the writer has heard that the reader is dead

vars == <<order, memory, stores, at, claim, free, seen, taken, due, learnt>>

Other(side) == IF side = "writer" THEN "reader" ELSE "writer"

(* Cells of shared memory: words, and the two halves of a record's body. *)
RecordsWritten == <<"records written">>
WritePosition == <<"write position">>
RecordsTaken == <<"records taken">>
ReadPosition == <<"read position">>
Parked(side) == <<"parked", side>>
Half(half, place) == <<half, place>>
Cells == {RecordsWritten, WritePosition, RecordsTaken, ReadPosition} \cup {Parked(side) : side \in Sides}
            \cup {Half(half, place) : half \in {"head", "tail"}, place \in 1..Places}

PlaceOf(number) == ((number - 1) % Places) + 1

(* What the writer does with a record, step by step: the body, the count, and the position last of all. *)
Then == [claim |-> "head", head |-> "tail", tail |-> "count", count |-> "advance", advance |-> "ring"]

(* What who found nothing does, step by step: it raises its flag, looks again, and sleeps. *)
Rest == [found |-> "park", park |-> "look again", look |-> "sleep"]

Writing == {"head", "tail", "count", "advance"}
Reading == {"ask", "review", "read", "count", "consume"}
Ringing == {"ring", "lower", "wake"}
(* A reader that has counted what it took gives the place back, and rings behind that. *)
RingingSoon == Ringing \cup {"consume"}
Parking == {"park", "look again", "unpark", "sleep", "asleep"}
(* "closed": everything was sent and taken; "told": got PeerDied; "broken": met what is no record; "dead": was killed. *)
Ended == {"closed", "told", "broken", "dead"}

TypeOK ==
    (* A machine does not change. *)
    /\ order \in Orders
    (* The number of a record stands for its body, and a position counts records. *)
    /\ memory \in [Cells -> 0..Records]
    (* Empty where a store is seen at once. *)
    /\ \A side \in Sides : stores[side] \in Seq([cell : Cells, value : 0..Records])
    (* The writer begins with a claim, and looks when there was no room, or for the end. *)
    /\ at.writer \in {"claim", "look"} \cup Writing \cup Ringing \cup Parking \cup Ended
    (* The reader begins with a look. *)
    /\ at.reader \in {"look"} \cup Reading \cup Ringing \cup Parking \cup Ended
    (* Numbers rise one by one; of a dead writer there is none. *)
    /\ claim \in 0..Records
    (* As far as the ring goes, seen from the reader. *)
    /\ free \in 0..(Records + Places)
    (* Never more than were published. *)
    /\ seen \in 0..Records
    (* The reader's own position is the length of this. *)
    /\ taken \in Seq((0..Records) \X (0..Records))
    (* Both ask at once, and then every 100 ms; that is as long as a sleep may last. *)
    /\ due \in [Sides -> BOOLEAN]
    (* The living do not unlearn a death. *)
    /\ learnt \in BOOLEAN

Init ==
    /\ order \in Orders
    /\ memory = [cell \in Cells |->
                    CASE cell \in {RecordsWritten, WritePosition} -> Sent
                      [] \E number \in 1..Sent, half \in {"head", "tail"} : cell = Half(half, PlaceOf(number)) -> cell[2]
                      [] OTHER -> 0]
    /\ stores = [side \in Sides |-> <<>>]
    /\ at = [writer |-> "claim", reader |-> "look"]
    /\ claim = Sent
    /\ free = 0
    /\ seen = 0
    /\ taken = <<>>
    /\ due = [side \in Sides |-> TRUE]
    /\ learnt = FALSE

-------------------------------------------------------------------------------

(* A side sees its own latest store to a cell, and otherwise what has reached memory. *)
Load(side, cell) ==
    LET own == {i \in DOMAIN stores[side] : stores[side][i].cell = cell}
    IN  IF own = {} THEN memory[cell] ELSE stores[side][CHOOSE i \in own : \A other \in own : other <= i].value

Store(side, cell, value) ==
    IF order = "SC"
    THEN memory' = [memory EXCEPT ![cell] = value] /\ UNCHANGED stores
    ELSE stores' = [stores EXCEPT ![side] = Append(@, [cell |-> cell, value |-> value])] /\ UNCHANGED memory

(* A full fence, and every system call, waits until the side's stores have reached memory. *)
Fence(side) == stores[side] = <<>>

(* Full fences of Bell.ring and of Bell.sleep_unless. *)
RingerFence(side) == Fence(side)
SleeperFence(side) == Fence(side)

(* A store of a word releases what was written before; TSO does that without a fence. *)
ReleaseFence(side) == order = "WEAK" => Fence(side)

(* A system call in the middle of a step empties the buffer in it. *)
SystemCall(side) ==
    /\ memory' = [cell \in Cells |-> Load(side, cell)]
    /\ stores' = [stores EXCEPT ![side] = <<>>]

StoreWord(side, word, value) == ReleaseFence(side) /\ Store(side, word, value)

Go(side, place) == at' = [at EXCEPT ![side] = place]

(* What the writer waits for: room for one more record, and behind END, that all were taken. *)
HasRoom == claim - Load("writer", ReadPosition) < Places
HasAcknowledgement == Load("writer", RecordsTaken) = claim

(* What the reader waits for: a record behind the last one that it took. *)
HasRecord == Load("reader", WritePosition) # Len(taken)

Ready(side) ==
    CASE side = "reader" -> HasRecord
      [] side = "writer" /\ claim < Records -> HasRoom
      [] OTHER -> HasAcknowledgement

(* The kernel says that a side is dead when nothing that the dead did can still happen. *)
IsDead(side) == at[side] = "dead" /\ stores[side] = <<>>

-------------------------------------------------------------------------------

(* The writer claims the next place: it was free before, or is by the read position now. *)
WriterClaim ==
    /\ at.writer = "claim"
    /\ LET asked == claim < free
       IN  /\ free' = IF asked THEN free ELSE Load("writer", ReadPosition) + Places
           /\ IF asked \/ HasRoom
              THEN Go("writer", Then.claim) /\ claim' = claim + 1
              ELSE Go("writer", "look") /\ UNCHANGED claim
    /\ UNCHANGED <<order, memory, stores, seen, taken, due, learnt>>

(* The writer asks the kernel, if it is time, whether the reader is dead; then it looks for what it waits for. Where
   that has come, the death makes no difference yet. *)
WriterLook ==
    /\ at.writer = "look"
    /\ LET asks == due.writer /\ ~learnt
       IN  /\ learnt' = (learnt \/ (asks /\ IsDead("reader")))
           /\ due' = [due EXCEPT !.writer = @ /\ ~asks]
           /\ IF asks THEN SystemCall("writer") ELSE UNCHANGED <<memory, stores>>
    /\ Go("writer",
          IF Ready("writer") THEN (IF claim < Records THEN "claim" ELSE "closed")
          ELSE IF learnt' THEN "told" ELSE Rest.found)
    /\ UNCHANGED <<order, claim, free, seen, taken>>

(* The writer stores one half of the body; the ring is bytes, and no store of bytes releases anything. *)
WriterWrite ==
    /\ at.writer \in {"head", "tail"}
    /\ Store("writer", Half(at.writer, PlaceOf(claim)), claim)
    /\ Go("writer", Then[at.writer])
    /\ UNCHANGED <<order, claim, free, seen, taken, due, learnt>>

(* The writer stores how many records it has written, this one included. *)
WriterCount ==
    /\ at.writer = "count"
    /\ StoreWord("writer", RecordsWritten, claim)
    /\ Go("writer", Then.count)
    /\ UNCHANGED <<order, claim, free, seen, taken, due, learnt>>

(* The writer moves the write position behind the record: that one store publishes it. *)
WriterAdvance ==
    /\ at.writer = "advance"
    /\ StoreWord("writer", WritePosition, claim)
    /\ Go("writer", Then.advance)
    /\ UNCHANGED <<order, claim, free, seen, taken, due, learnt>>

(* Where the reader goes on: with what it has seen already, or with a look. *)
Onward(position) == IF position # Len(taken) THEN "read" ELSE "look"

(* The reader loads the write position: is there anything?  If not, it may be time to ask for the writer. *)
ReaderLook ==
    /\ at.reader = "look"
    /\ seen' = Load("reader", WritePosition)
    /\ due' = [due EXCEPT !.reader = @ /\ HasRecord]
    /\ Go("reader", IF HasRecord THEN "read" ELSE IF due.reader THEN "ask" ELSE Rest.found)
    /\ UNCHANGED <<order, memory, stores, claim, free, taken, learnt>>

(* The reader, who has found nothing, asks the kernel whether the writer is dead. *)
ReaderAsk ==
    /\ at.reader = "ask"
    /\ SystemCall("reader")
    /\ Go("reader", IF IsDead("writer") THEN "review" ELSE Rest.found)
    /\ UNCHANGED <<order, claim, free, seen, taken, due, learnt>>

(* The reader looks once more, behind the death: what the writer has published before it died is there by now. *)
ReaderReview ==
    /\ at.reader = "review"
    /\ seen' = Load("reader", WritePosition)
    /\ Go("reader", IF HasRecord THEN "read" ELSE "told")
    /\ UNCHANGED <<order, memory, stores, claim, free, taken, due, learnt>>

(* The reader copies the next record out of the ring; it trusts no head that is another record's. *)
ReaderRead ==
    /\ at.reader = "read"
    /\ LET number == Len(taken) + 1
           head == Load("reader", Half("head", PlaceOf(number)))
           tail == Load("reader", Half("tail", PlaceOf(number)))
       IN  /\ taken' = Append(taken, <<head, tail>>)
           /\ Go("reader", IF head = number THEN "count" ELSE "broken")
    /\ UNCHANGED <<order, memory, stores, claim, free, seen, due, learnt>>

(* The reader stores how many records it has taken, this one included. *)
ReaderCount ==
    /\ at.reader = "count"
    /\ StoreWord("reader", RecordsTaken, Len(taken))
    /\ Go("reader", "consume")
    /\ UNCHANGED <<order, claim, free, seen, taken, due, learnt>>

(* The reader gives the place back, by one store of the read position. *)
ReaderConsume ==
    /\ at.reader = "consume"
    /\ StoreWord("reader", ReadPosition, Len(taken))
    /\ Go("reader", "ring")
    /\ UNCHANGED <<order, claim, free, seen, taken, due, learnt>>

-------------------------------------------------------------------------------

(* Where a side goes on when it has rung. *)
Home(side) ==
    CASE side = "writer" -> IF claim < Records THEN "claim" ELSE "look"
      [] Len(taken) = Records -> "closed"
      [] OTHER -> Onward(seen)

(* Where a side goes on when it slept, or was about to. *)
Awake(side) == IF side = "writer" THEN "look" ELSE Onward(seen)

(* Who has stored what the other side waits for loads its flag, behind a fence: is it parked? *)
RingerLook(side) ==
    /\ at[side] = "ring"
    /\ RingerFence(side)
    /\ Go(side, IF Load(side, Parked(Other(side))) = 1 THEN "lower" ELSE Home(side))
    /\ UNCHANGED <<order, memory, stores, claim, free, seen, taken, due, learnt>>

(* The ringer lowers the flag of the other side. *)
RingerLower(side) ==
    /\ at[side] = "lower"
    /\ StoreWord(side, Parked(Other(side)), 0)
    /\ Go(side, "wake")
    /\ UNCHANGED <<order, claim, free, seen, taken, due, learnt>>

(* The ringer wakes the other side, if it sleeps: a futex wake. *)
RingerWake(side) ==
    /\ at[side] = "wake"
    /\ Fence(side)
    /\ at' = [at EXCEPT ![side] = Home(side), ![Other(side)] = IF @ = "asleep" THEN Awake(Other(side)) ELSE @]
    /\ UNCHANGED <<order, memory, stores, claim, free, seen, taken, due, learnt>>

(* Who found nothing raises its flag. *)
SleeperPark(side) ==
    /\ at[side] = "park"
    /\ StoreWord(side, Parked(side), 1)
    /\ Go(side, Rest.park)
    /\ UNCHANGED <<order, claim, free, seen, taken, due, learnt>>

(* What the reader has seen when it looks once more. *)
SeenBy(side) == IF side = "reader" THEN Load("reader", WritePosition) ELSE seen

(* The sleeper looks again, behind a fence. *)
SleeperLook(side) ==
    /\ at[side] = "look again"
    /\ SleeperFence(side)
    /\ seen' = SeenBy(side)
    /\ Go(side, IF Ready(side) THEN "unpark" ELSE Rest.look)
    /\ UNCHANGED <<order, memory, stores, claim, free, taken, due, learnt>>

(* The sleeper takes its flag down, for nobody else did. *)
SleeperUnpark(side) ==
    /\ at[side] = "unpark"
    /\ StoreWord(side, Parked(side), 0)
    /\ Go(side, Awake(side))
    /\ UNCHANGED <<order, claim, free, seen, taken, due, learnt>>

(* The sleeper falls asleep, unless its flag is down by now: a futex wait. *)
SleeperSleep(side) ==
    /\ at[side] = "sleep"
    /\ Fence(side)
    /\ Go(side, IF memory[Parked(side)] = 1 THEN "asleep" ELSE Awake(side))
    /\ UNCHANGED <<order, memory, stores, claim, free, seen, taken, due, learnt>>

(* Where a side goes on whose sleep nothing but its bound has ended. *)
AtBound == "unpark"

(* Time passes up to the bound of whoever sleeps, and it is time for the living to ask for each other.  That the bounds
   of two end at once leaves nothing out: they never sleep at the same time, or a wake-up was lost.  Where nobody dies,
   the bound is not needed, and does not end. *)
TimePass ==
    /\ Mortal # {}
    /\ \E side \in Sides : at[side] = "asleep"
    /\ at' = [side \in Sides |-> IF at[side] = "asleep" THEN AtBound ELSE at[side]]
    /\ due' = [side \in Sides |-> at[side] # "dead"]
    /\ UNCHANGED <<order, memory, stores, claim, free, seen, taken, learnt>>

-------------------------------------------------------------------------------

(* A store reaches memory; two to one cell stay in order on every machine. *)
HardwareFlush(side) ==
    \E i \in DOMAIN stores[side] :
        /\ order = "TSO" => i = 1
        /\ \A earlier \in 1..(i - 1) : stores[side][earlier].cell # stores[side][i].cell
        /\ memory' = [memory EXCEPT ![stores[side][i].cell] = stores[side][i].value]
        /\ stores' = [stores EXCEPT ![side] = SubSeq(@, 1, i - 1) \o SubSeq(@, i + 1, Len(@))]
        /\ UNCHANGED <<order, at, claim, free, seen, taken, due, learnt>>

(* A side is killed: what it has stored reaches memory nevertheless, and what it alone knew is gone. *)
FaultKill(side) ==
    /\ side \in Mortal
    /\ at[side] \notin Ended
    /\ Go(side, "dead")
    /\ due' = [due EXCEPT ![side] = FALSE]
    /\ IF side = "writer"
       THEN claim' = 0 /\ free' = 0 /\ learnt' = FALSE /\ UNCHANGED seen
       ELSE seen' = 0 /\ UNCHANGED <<claim, free, learnt>>
    /\ UNCHANGED <<order, memory, stores, taken>>

-------------------------------------------------------------------------------

System ==
    \/ WriterClaim \/ WriterLook \/ WriterWrite \/ WriterCount \/ WriterAdvance
    \/ ReaderLook \/ ReaderAsk \/ ReaderReview \/ ReaderRead \/ ReaderCount \/ ReaderConsume
    \/ \E side \in Sides :
        \/ RingerLook(side) \/ RingerLower(side) \/ RingerWake(side)
        \/ SleeperPark(side) \/ SleeperLook(side) \/ SleeperUnpark(side) \/ SleeperSleep(side)
    \/ TimePass
Hardware == \E side \in Sides : HardwareFlush(side)
Fault == \E side \in Sides : FaultKill(side)

(* Both sides have ended.  Any other state without a next step is a deadlock. *)
Terminating ==
    /\ \A side \in Sides : at[side] \in Ended /\ stores[side] = <<>>
    /\ UNCHANGED vars

Next == System \/ Hardware \/ Fault \/ Terminating

Spec == Init /\ [][Next]_vars

(* The living go on, and stores reach memory.  The bound of a sleep helps only those whose peer is dead:
   between the living, the handshake of flags must do without it. *)
FairSpec ==
    /\ Spec
    /\ WF_vars(WriterClaim) /\ WF_vars(WriterLook) /\ WF_vars(WriterWrite)
    /\ WF_vars(WriterCount) /\ WF_vars(WriterAdvance)
    /\ WF_vars(ReaderLook) /\ WF_vars(ReaderAsk) /\ WF_vars(ReaderReview)
    /\ WF_vars(ReaderRead) /\ WF_vars(ReaderCount) /\ WF_vars(ReaderConsume)
    /\ \A side \in Sides :
        /\ WF_vars(RingerLook(side)) /\ WF_vars(RingerLower(side)) /\ WF_vars(RingerWake(side))
        /\ WF_vars(SleeperPark(side)) /\ WF_vars(SleeperLook(side)) /\ WF_vars(SleeperUnpark(side))
        /\ WF_vars(SleeperSleep(side)) /\ WF_vars(at[side] = "dead" /\ TimePass)
        /\ WF_vars(HardwareFlush(side))

-------------------------------------------------------------------------------

(* What is published and not given back lies in the ring whole, whoever died and when. *)
PublishedWholeInv ==
    \A number \in (memory[ReadPosition] + 1)..memory[WritePosition] :
        \A half \in {"head", "tail"} : memory[Half(half, PlaceOf(number))] = number

(* Records are taken in order, once, and unaltered. *)
InOrderOnceUnalteredInv == \A i \in DOMAIN taken : taken[i] = <<i, i>>

(* The ring never holds more than it has places for. *)
NoOverrunInv == memory[WritePosition] - memory[ReadPosition] \in 0..Places

(* The writer's count is never behind what the reader has taken, not even if the writer died. *)
CountCoversTakenInv == Len(taken) <= memory[RecordsWritten]

(* Nobody sleeps before something that it waits for, unless the other side is about to ring, or dead. *)
NoLostWakeupInv ==
    \A side \in Sides : at[side] = "asleep" /\ Ready(side) => at[Other(side)] \in RingingSoon \cup {"dead"}

(* Who is told that the other side died hears the truth; the reader hears it behind everything that was published. *)
ToldTheTruthInv ==
    /\ \A side \in Sides : at[side] = "told" => at[Other(side)] = "dead"
    /\ at.reader = "told" => Len(taken) = memory[WritePosition]

(* A side that closed can prove that what was sent is what was taken. *)
ClosedMeansAllTakenInv ==
    \A side \in Sides : at[side] = "closed" => Len(taken) = Records /\ memory[RecordsWritten] = Records

(* What was published is taken in the end, unless the reader dies. *)
EveryRecordTakenProp ==
    \A number \in 1..Records :
        memory[WritePosition] >= number ~> Len(taken) >= number \/ at.reader = "dead"

(* Both sides end: by a close that both agree on, by being told of a death, or by their own. *)
EverySideEndsProp == \A side \in Sides : <>(at[side] \in Ended)
===============================================================================
