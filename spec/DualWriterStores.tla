--------------------------- MODULE DualWriterStores ---------------------------
(* The rings of DualWriterRing on machines whose stores reach memory late, and *)
(* in an order of their own.  Its WriterPublish is here what it is in code:    *)
(* to store the record, the count of records, and the write position; and that *)
(* each of them reaches memory.  Grain: an action is one access to a ring, or  *)
(* the region that is one step of its writer, or of its reader.                *)
(*                                                                             *)
(*   writer: claim, fill, count, advance --> buffer of stores --flush--> ring  *)
(*                                                reader: look, take <--'      *)
(*                                                                             *)
(* Memory orders as in Lane: "SC", a store is seen at once; "TSO" (x86-64),    *)
(* stores leave a buffer first in, first out; "WEAK" (AArch64), in any order,  *)
(* but that a store of a word leaves behind all that was stored before it.     *)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
    Writers,        \* the writing contexts; each ring is called by its writer's name
    Messages,       \* writer -> how many messages it sends
    Orders,         \* the memory orders that the machine may have
    Cells           \* what a writer stores: "record", "count" and "position", in this order

ASSUME OrdersAreKnown == Orders \subseteq {"SC", "TSO", "WEAK"}
ASSUME CellsAreThree == Cells = {"record", "count", "position"}

VARIABLES
    order,          (* ghost *) \* the memory order of this machine
    at,             \* writer -> what it does next with its message
    claim,          \* writer -> place and sequence number of the record that it filled last, or is about to fill
    sent,           \* writer -> how many messages it has published, as it sees it
    stores,         (* ghost *) \* writer -> its stores that have not reached memory, oldest first
    cells,          \* ring -> place -> the record that lies there, for all to see
    count,          \* ring -> how many records were written to it, for all to see
    write,          \* ring -> the place behind the last published record, for all to see
    seen,           \* ring -> the write position, when the reader last looked at it
    read,           \* ring -> the place of the next record to take
    taken,          \* ring -> the messages that the reader took out of it
    reader          \* ring -> how far its reader is

vars == <<order, at, claim, sent, stores, cells, count, write, seen, read, taken, reader>>

Rings == Writers
Numbers == UNION {1..Messages[writer] : writer \in Writers}
Places == 1..(Cardinality(Writers) * Cardinality(Numbers))
Sequences == {0} \cup Places
NoRecord == <<>>

(* One ring for each writer: this, and nothing else, makes writing safe. *)
RingOf(writer) == writer

TypeOK ==
    (* A machine does not change. *)
    /\ order \in Orders
    (* A program counter. *)
    /\ at \in [Writers -> {"claim", "fill", "count", "advance"}]
    (* Place 0: none yet. *)
    /\ claim \in [Writers -> [place : {0} \cup Places, sequence : Sequences]]
    /\ sent \in [Writers -> {0} \cup Numbers]
    (* A record, its count and its position: no more, for a fence is behind each publication. *)
    /\ \A writer \in Writers : Len(stores[writer]) <= 3
    (* A record says who wrote it, the how manieth message it is, and its number in the ring.  Rings have room for
       everything: a full ring is another model's subject. *)
    /\ cells \in [Rings -> [Places -> (Writers \X Numbers \X Sequences) \cup {NoRecord}]]
    /\ count \in [Rings -> Sequences]
    (* Positions only grow. *)
    /\ write \in [Rings -> Nat \ {0}]
    (* The reader never overtakes the writer. *)
    /\ \A ring \in Rings : read[ring] <= seen[ring] /\ seen[ring] <= write[ring]
    /\ \A ring \in Rings : read[ring] = Len(taken[ring]) + 1
    (* "done": nothing will come; "broken": it met what is no record, and takes nothing more. *)
    /\ reader \in [Rings -> {"there", "done", "broken"}]

Init ==
    /\ order \in Orders
    /\ at = [writer \in Writers |-> "claim"]
    /\ claim = [writer \in Writers |-> [place |-> 0, sequence |-> 0]]
    /\ sent = [writer \in Writers |-> 0]
    /\ stores = [writer \in Writers |-> <<>>]
    /\ cells = [ring \in Rings |-> [place \in Places |-> NoRecord]]
    /\ count = [ring \in Rings |-> 0]
    /\ write = [ring \in Rings |-> 1]
    /\ seen = [ring \in Rings |-> 1]
    /\ read = [ring \in Rings |-> 1]
    /\ taken = [ring \in Rings |-> <<>>]
    /\ reader = [ring \in Rings |-> "there"]

-------------------------------------------------------------------------------

(* A full fence waits until the writer's stores have reached memory. *)
Fence(writer) == stores[writer] = <<>>

(* To ring the bell behind a publication is a full fence: Bell.ring. *)
BellFence(writer) == Fence(writer)

(* Words are stored so that all that was stored before is seen before; no store of bytes releases anything. *)
Releases(cell) == cell # "record"

Reaches(store) ==
    CASE store.cell = "record" ->
            cells' = [cells EXCEPT ![store.ring][store.place] = store.value] /\ UNCHANGED <<count, write>>
      [] store.cell = "count" ->
            count' = [count EXCEPT ![store.ring] = store.value] /\ UNCHANGED <<cells, write>>
      [] store.cell = "position" ->
            write' = [write EXCEPT ![store.ring] = store.value] /\ UNCHANGED <<cells, count>>

Store(writer, cell, value) ==
    LET store == [ring |-> RingOf(writer), cell |-> cell, place |-> claim[writer].place, value |-> value]
    IN  IF order = "SC"
        THEN Reaches(store) /\ UNCHANGED stores
        ELSE stores' = [stores EXCEPT ![writer] = Append(@, store)] /\ UNCHANGED <<cells, count, write>>

(* A writer reads its ring's write position and count: there its next record will go, and that is its number. *)
WriterClaim(writer) ==
    /\ at[writer] = "claim"
    /\ sent[writer] < Messages[writer]
    /\ BellFence(writer)
    /\ claim' = [claim EXCEPT ![writer] = [place |-> write[RingOf(writer)], sequence |-> count[RingOf(writer)]]]
    /\ at' = [at EXCEPT ![writer] = "fill"]
    /\ UNCHANGED <<order, sent, stores, cells, count, write, seen, read, taken, reader>>

(* The writer stores its record at the place that it claimed. *)
WriterFill(writer) ==
    /\ at[writer] = "fill"
    /\ Store(writer, "record", <<writer, sent[writer] + 1, claim[writer].sequence>>)
    /\ at' = [at EXCEPT ![writer] = "count"]
    /\ UNCHANGED <<order, claim, sent, seen, read, taken, reader>>

(* The writer stores how many records there are, this one included. *)
WriterCount(writer) ==
    /\ at[writer] = "count"
    /\ Store(writer, "count", claim[writer].sequence + 1)
    /\ at' = [at EXCEPT ![writer] = "advance"]
    /\ UNCHANGED <<order, claim, sent, seen, read, taken, reader>>

(* The writer moves the write position behind its record: that one store publishes it. *)
WriterAdvance(writer) ==
    /\ at[writer] = "advance"
    /\ Store(writer, "position", claim[writer].place + 1)
    /\ sent' = [sent EXCEPT ![writer] = @ + 1]
    /\ at' = [at EXCEPT ![writer] = "claim"]
    /\ UNCHANGED <<order, claim, seen, read, taken, reader>>

(* Every send has returned, behind its fence. *)
AllSent == \A writer \in Writers : sent[writer] = Messages[writer] /\ Fence(writer)

(* The reader looks at a ring's write position.  Where it finds nothing it looks anew, unless all was sent before. *)
ReaderLook(ring) ==
    /\ reader[ring] = "there" /\ seen[ring] = read[ring]
    /\ seen' = [seen EXCEPT ![ring] = write[ring]]
    /\ reader' = [reader EXCEPT ![ring] = IF write[ring] = read[ring] /\ AllSent THEN "done" ELSE @]
    /\ UNCHANGED <<order, at, claim, sent, stores, cells, count, write, read, taken>>

(* A record that the reader takes is behind its position, and the next one by its number. *)
IsNext(ring) ==
    LET record == cells[ring][read[ring]]
    IN  seen[ring] > read[ring] /\ record # NoRecord /\ record[3] = Len(taken[ring])

(* The message that lies at a place. *)
MessageAt(ring, place) == IF cells[ring][place] = NoRecord THEN <<>> ELSE SubSeq(cells[ring][place], 1, 2)

(* The reader takes what lies at a ring's read position, once it has seen that the write position is behind it. *)
ReaderTake(ring) ==
    /\ reader[ring] = "there" /\ seen[ring] # read[ring]
    /\ IF IsNext(ring)
       THEN /\ taken' = [taken EXCEPT ![ring] = Append(@, MessageAt(ring, read[ring]))]
            /\ read' = [read EXCEPT ![ring] = @ + 1]
            /\ UNCHANGED reader
       ELSE reader' = [reader EXCEPT ![ring] = "broken"] /\ UNCHANGED <<taken, read>>
    /\ UNCHANGED <<order, at, claim, sent, stores, cells, count, write, seen>>

(* A store reaches memory. *)
HardwareFlush(writer, cell) ==
    \E i \in DOMAIN stores[writer] :
        /\ stores[writer][i].cell = cell
        /\ order = "TSO" \/ Releases(cell) => i = 1
        /\ Reaches(stores[writer][i])
        /\ stores' = [stores EXCEPT ![writer] = SubSeq(@, 1, i - 1) \o SubSeq(@, i + 1, Len(@))]
        /\ UNCHANGED <<order, at, claim, sent, seen, read, taken, reader>>

-------------------------------------------------------------------------------

Writer(writer) == WriterClaim(writer) \/ WriterFill(writer) \/ WriterCount(writer) \/ WriterAdvance(writer)
Reader(ring) == ReaderLook(ring) \/ ReaderTake(ring)

System == \/ \E writer \in Writers : Writer(writer)
          \/ \E ring \in Rings : Reader(ring)
Hardware == \E writer \in Writers, cell \in Cells : HardwareFlush(writer, cell)

(* The numbers of a writer's messages, in the order in which they were taken out of a ring. *)
TakenFrom(ring, writer) ==
    LET Is(message) == message[1] = writer
        messages == SelectSeq(taken[ring], Is)
    IN  [i \in DOMAIN messages |-> messages[i][2]]

(* Every message was taken out of its ring.  Any other state without a next step is a deadlock. *)
Terminating ==
    /\ \A writer \in Writers : Len(TakenFrom(RingOf(writer), writer)) = Messages[writer]
    /\ \A ring \in Rings : reader[ring] = "done"
    /\ UNCHANGED vars

Next == System \/ Hardware \/ Terminating

Spec == Init /\ [][Next]_vars

(* Writers, readers and machine go on as long as they can. *)
FairSpec ==
    /\ Spec
    /\ \A writer \in Writers : WF_vars(Writer(writer))
    /\ \A writer \in Writers, cell \in Cells : WF_vars(HardwareFlush(writer, cell))
    /\ \A ring \in Rings : WF_vars(Reader(ring))

-------------------------------------------------------------------------------

(* Whatever is taken was written before: no place is read whose record is still on its way to memory. *)
NoGarbageTakenInv == \A ring \in Rings : reader[ring] # "broken"

(* What the reader has, or can take. *)
Arrived ==
    UNION {{taken[ring][i] : i \in DOMAIN taken[ring]} : ring \in Rings}
        \cup UNION {{MessageAt(ring, place) : place \in read[ring]..(write[ring] - 1)} : ring \in Rings}

(* Every message whose stores have reached memory was taken, or is still in a ring. *)
NoMessageLostInv ==
    \A writer \in Writers : Fence(writer) => \A number \in 1..sent[writer] : <<writer, number>> \in Arrived

(* The messages of one writer are taken in order, each once. *)
InOrderOnceInv ==
    \A writer \in Writers : \A ring \in Rings : \A i \in DOMAIN TakenFrom(ring, writer) : TakenFrom(ring, writer)[i] = i

(* Whatever was sent is taken in the end. *)
EveryMessageTakenProp ==
    \A writer \in Writers : \A number \in 1..Messages[writer] :
        sent[writer] >= number ~> Len(TakenFrom(RingOf(writer), writer)) >= number
===============================================================================
