--------------------------------- MODULE Lane ---------------------------------
(* One writer, one reader, and between them a ring in shared memory.  Grain: *)
(* an action is one access to shared memory, or one system call; a fence is  *)
(* a guard on the access behind it.  Regions of the code are made of these:  *)
(*                                                                           *)
(*   Writer.Claim    WriterClaim         Reader.Look    ReaderLook           *)
(*   Writer.Publish  WriterWrite twice,  Reader.Take    ReaderRead,          *)
(*                   WriterCount,                       ReaderConsume,       *)
(*                   WriterPublish,                     Bell.Ring            *)
(*                   Bell.Ring           Bell.Park      SleeperPark,         *)
(*   Bell.Ring       RingerLook,                        SleeperLook          *)
(*                   RingerLower,        no region      WriterClose, and the *)
(*                   RingerWake                         other Sleeper steps  *)
(*                                                                           *)
(* The last record is END: the reader takes it and is done, and that its     *)
(* place was given back tells the writer that all was taken.                 *)
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
    Places          \* how many of them the ring holds

ASSUME SidesAreTwo == Sides = {"writer", "reader"} /\ Mortal \subseteq Sides
ASSUME OrdersAreKnown == Orders \subseteq {"SC", "TSO", "WEAK"}

VARIABLES
    order,          (* ghost *) \* the memory order of this machine
    memory,         \* cell -> what lies there, for all to see
    stores,         (* ghost *) \* side -> its stores that have not reached memory, oldest first
    at,             \* side -> what it does next, or how it ended
    claim,          \* the number of the record that the writer has in hands, or wrote last
    taken,          \* the records that the reader copied out, as <<head, tail>>
    learnt          \* side -> whether it has heard that the other one is dead

vars == <<order, memory, stores, at, claim, taken, learnt>>

Other(side) == IF side = "writer" THEN "reader" ELSE "writer"

(* Cells of shared memory: words, and the two halves of a record's body. *)
RecordsWritten == <<"records written">>
WritePosition == <<"write position">>
ReadPosition == <<"read position">>
Parked(side) == <<"parked", side>>
Half(half, place) == <<half, place>>
Cells == {RecordsWritten, WritePosition, ReadPosition} \cup {Parked(side) : side \in Sides}
            \cup {Half(half, place) : half \in {"head", "tail"}, place \in 1..Places}

PlaceOf(number) == ((number - 1) % Places) + 1

(* What the writer does with a record, step by step: the body, the count, and the position last of all. *)
Then == [look |-> "head", head |-> "tail", tail |-> "count", count |-> "publish", publish |-> "ring"]

Writing == {"head", "tail", "count", "publish"}
Reading == {"read", "consume"}
Ringing == {"ring", "lower", "wake"}
Parking == {"park", "look again", "unpark", "sleep", "asleep"}
(* "closed": everything was sent and taken; "told": got PeerDied; "dead": was killed. *)
Ended == {"closed", "told", "dead"}

TypeOK ==
    (* A machine does not change. *)
    /\ order \in Orders
    (* The number of a record stands for its body, and a position counts records. *)
    /\ memory \in [Cells -> 0..Records]
    (* Empty where a store is seen at once. *)
    /\ \A side \in Sides : stores[side] \in Seq([cell : Cells, value : 0..Records])
    (* "look" is where both begin. *)
    /\ at.writer \in {"look"} \cup Writing \cup Ringing \cup Parking \cup Ended
    /\ at.reader \in {"look"} \cup Reading \cup Ringing \cup Parking \cup Ended
    (* Numbers rise one by one. *)
    /\ claim \in 0..Records
    (* The reader's own position is the length of this. *)
    /\ taken \in Seq((0..Records) \X (0..Records))
    (* Death is not unlearnt. *)
    /\ learnt \in [Sides -> BOOLEAN]

Init ==
    /\ order \in Orders
    /\ memory = [cell \in Cells |-> 0]
    /\ stores = [side \in Sides |-> <<>>]
    /\ at = [side \in Sides |-> "look"]
    /\ claim = 0
    /\ taken = <<>>
    /\ learnt = [side \in Sides |-> FALSE]

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

StoreWord(side, word, value) == ReleaseFence(side) /\ Store(side, word, value)

Go(side, place) == at' = [at EXCEPT ![side] = place]

(* What the writer waits for: room for one more record, and behind END, that all were taken. *)
HasRoom == claim - Load("writer", ReadPosition) < Places
HasAcknowledgement == Load("writer", ReadPosition) = claim

(* What the reader waits for: a record behind the last one that it took. *)
HasRecord == Load("reader", WritePosition) # Len(taken)

Ready(side) ==
    CASE side = "reader" -> HasRecord
      [] side = "writer" /\ claim < Records -> HasRoom
      [] OTHER -> HasAcknowledgement

(* Nothing to do here: park, unless the other side will never do anything again. *)
GiveUpOrPark(side) == Go(side, IF learnt[side] THEN "told" ELSE "park")

-------------------------------------------------------------------------------

(* The writer loads the read position, and claims the next place if it is free. *)
WriterClaim ==
    /\ at.writer = "look"
    /\ claim < Records
    /\ IF HasRoom
       THEN Go("writer", Then.look) /\ claim' = claim + 1
       ELSE GiveUpOrPark("writer") /\ UNCHANGED claim
    /\ UNCHANGED <<order, memory, stores, taken, learnt>>

(* The writer stores one half of the body; the ring is bytes, and no store of bytes releases anything. *)
WriterWrite ==
    /\ at.writer \in {"head", "tail"}
    /\ Store("writer", Half(at.writer, PlaceOf(claim)), claim)
    /\ Go("writer", Then[at.writer])
    /\ UNCHANGED <<order, claim, taken, learnt>>

(* The writer stores how many records it has written, this one included. *)
WriterCount ==
    /\ at.writer = "count"
    /\ StoreWord("writer", RecordsWritten, claim)
    /\ Go("writer", Then.count)
    /\ UNCHANGED <<order, claim, taken, learnt>>

(* The writer publishes, by one store of the write position. *)
WriterPublish ==
    /\ at.writer = "publish"
    /\ StoreWord("writer", WritePosition, claim)
    /\ Go("writer", Then.publish)
    /\ UNCHANGED <<order, claim, taken, learnt>>

(* Behind END the writer loads the read position: was everything taken? *)
WriterClose ==
    /\ at.writer = "look"
    /\ claim = Records
    /\ IF HasAcknowledgement THEN Go("writer", "closed") ELSE GiveUpOrPark("writer")
    /\ UNCHANGED <<order, memory, stores, claim, taken, learnt>>

(* The reader loads the write position: is there anything? *)
ReaderLook ==
    /\ at.reader = "look"
    /\ IF HasRecord THEN Go("reader", "read") ELSE GiveUpOrPark("reader")
    /\ UNCHANGED <<order, memory, stores, claim, taken, learnt>>

(* The reader copies the next record out of the ring. *)
ReaderRead ==
    /\ at.reader = "read"
    /\ LET place == PlaceOf(Len(taken) + 1)
       IN  taken' = Append(taken, <<Load("reader", Half("head", place)), Load("reader", Half("tail", place))>>)
    /\ Go("reader", "consume")
    /\ UNCHANGED <<order, memory, stores, claim, learnt>>

(* The reader gives the place back, by one store of the read position; the count of records taken goes with it. *)
ReaderConsume ==
    /\ at.reader = "consume"
    /\ StoreWord("reader", ReadPosition, Len(taken))
    /\ Go("reader", "ring")
    /\ UNCHANGED <<order, claim, taken, learnt>>

-------------------------------------------------------------------------------

(* Where a side goes on when it has rung. *)
Home(side) == IF side = "reader" /\ Len(taken) = Records THEN "closed" ELSE "look"

(* Who has stored what the other side waits for loads its flag, behind a fence: is it parked? *)
RingerLook(side) ==
    /\ at[side] = "ring"
    /\ RingerFence(side)
    /\ Go(side, IF Load(side, Parked(Other(side))) = 1 THEN "lower" ELSE Home(side))
    /\ UNCHANGED <<order, memory, stores, claim, taken, learnt>>

(* The ringer lowers the flag of the other side. *)
RingerLower(side) ==
    /\ at[side] = "lower"
    /\ StoreWord(side, Parked(Other(side)), 0)
    /\ Go(side, "wake")
    /\ UNCHANGED <<order, claim, taken, learnt>>

(* The ringer wakes the other side, if it sleeps: a futex wake. *)
RingerWake(side) ==
    /\ at[side] = "wake"
    /\ Fence(side)
    /\ at' = [at EXCEPT ![side] = Home(side), ![Other(side)] = IF @ = "asleep" THEN "look" ELSE @]
    /\ UNCHANGED <<order, memory, stores, claim, taken, learnt>>

(* Who found nothing raises its flag. *)
SleeperPark(side) ==
    /\ at[side] = "park"
    /\ StoreWord(side, Parked(side), 1)
    /\ Go(side, "look again")
    /\ UNCHANGED <<order, claim, taken, learnt>>

(* The sleeper looks again, behind a fence. *)
SleeperLook(side) ==
    /\ at[side] = "look again"
    /\ SleeperFence(side)
    /\ Go(side, IF Ready(side) THEN "unpark" ELSE "sleep")
    /\ UNCHANGED <<order, memory, stores, claim, taken, learnt>>

(* The sleeper takes its flag down, for nobody else did. *)
SleeperUnpark(side) ==
    /\ at[side] = "unpark"
    /\ StoreWord(side, Parked(side), 0)
    /\ Go(side, "look")
    /\ UNCHANGED <<order, claim, taken, learnt>>

(* The sleeper falls asleep, unless its flag is down by now: a futex wait. *)
SleeperSleep(side) ==
    /\ at[side] = "sleep"
    /\ Fence(side)
    /\ Go(side, IF memory[Parked(side)] = 1 THEN "asleep" ELSE "look")
    /\ UNCHANGED <<order, memory, stores, claim, taken, learnt>>

(* The bound of the sleep ends it, and the sleeper asks the kernel whether the other side is dead.
   The kernel says so when nothing that the dead did can still happen. *)
SleeperTimeout(side) ==
    /\ at[side] = "asleep"
    /\ learnt' = [learnt EXCEPT ![side] = at[Other(side)] = "dead" /\ stores[Other(side)] = <<>>]
    /\ Go(side, "unpark")
    /\ UNCHANGED <<order, memory, stores, claim, taken>>

-------------------------------------------------------------------------------

(* A store reaches memory; two to one cell stay in order on every machine. *)
HardwareFlush(side) ==
    \E i \in DOMAIN stores[side] :
        /\ order = "TSO" => i = 1
        /\ \A earlier \in 1..(i - 1) : stores[side][earlier].cell # stores[side][i].cell
        /\ memory' = [memory EXCEPT ![stores[side][i].cell] = stores[side][i].value]
        /\ stores' = [stores EXCEPT ![side] = SubSeq(@, 1, i - 1) \o SubSeq(@, i + 1, Len(@))]
        /\ UNCHANGED <<order, at, claim, taken, learnt>>

(* One side is killed, for with both dead nobody is left to go wrong; what it has stored reaches memory nevertheless. *)
FaultKill(side) ==
    /\ side \in Mortal
    /\ at[side] \notin Ended
    /\ at[Other(side)] # "dead"
    /\ Go(side, "dead")
    /\ UNCHANGED <<order, memory, stores, claim, taken, learnt>>

-------------------------------------------------------------------------------

System ==
    \/ WriterClaim \/ WriterWrite \/ WriterCount \/ WriterPublish \/ WriterClose
    \/ ReaderLook \/ ReaderRead \/ ReaderConsume
    \/ \E side \in Sides :
        \/ RingerLook(side) \/ RingerLower(side) \/ RingerWake(side)
        \/ SleeperPark(side) \/ SleeperLook(side) \/ SleeperUnpark(side) \/ SleeperSleep(side) \/ SleeperTimeout(side)
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
    /\ WF_vars(WriterClaim) /\ WF_vars(WriterWrite) /\ WF_vars(WriterCount)
    /\ WF_vars(WriterPublish) /\ WF_vars(WriterClose)
    /\ WF_vars(ReaderLook) /\ WF_vars(ReaderRead) /\ WF_vars(ReaderConsume)
    /\ \A side \in Sides :
        /\ WF_vars(RingerLook(side)) /\ WF_vars(RingerLower(side)) /\ WF_vars(RingerWake(side))
        /\ WF_vars(SleeperPark(side)) /\ WF_vars(SleeperLook(side)) /\ WF_vars(SleeperUnpark(side))
        /\ WF_vars(SleeperSleep(side)) /\ WF_vars(at[Other(side)] = "dead" /\ SleeperTimeout(side))
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
    \A side \in Sides : at[side] = "asleep" /\ Ready(side) => at[Other(side)] \in Ringing \cup {"dead"}

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
