--------------------------- MODULE DualWriterStores ---------------------------
(* The rings of DualWriterRing on machines whose stores reach memory late, and *)
(* in an order of their own.  Its WriterPublish is three things here: to store *)
(* the record, to store the write position, and that both reach memory.        *)
(*                                                                             *)
(*   writer: claim, fill, publish --> buffer of stores --flush--> ring         *)
(*                                                      reader: take <--'      *)
(*                                                                             *)
(* Memory orders as in Lane: "SC", a store is seen at once; "TSO" (x86-64),    *)
(* stores leave a buffer first in, first out; "WEAK" (AArch64), in any order.  *)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
    Writers,        \* the writing contexts; each ring is called by its writer's name
    Messages,       \* how many messages each writer sends
    Orders          \* the memory orders that the machine may have

ASSUME OrdersAreKnown == Orders \subseteq {"SC", "TSO", "WEAK"}

VARIABLES
    order,          (* ghost *) \* the memory order of this machine
    at,             \* writer -> what it does next with its message
    claim,          \* writer -> the place that it filled last, or is about to fill
    sent,           \* writer -> how many messages it has published, as it sees it
    stores,         (* ghost *) \* writer -> its stores that have not reached memory, oldest first
    cells,          \* ring -> place -> the record that lies there, for all to see
    write,          \* ring -> the place behind the last published record, for all to see
    read,           \* ring -> the place of the next record to take
    taken           \* ring -> the records that the reader took out of it

vars == <<order, at, claim, sent, stores, cells, write, read, taken>>

Rings == Writers
Places == 1..(Cardinality(Writers) * Messages)
Records == Writers \X (1..Messages)     \* <<who wrote it, the how manieth it is>>
NoRecord == <<>>
Position == 0                           \* stands for the place of a ring's write position

(* One ring for each writer: this, and nothing else, makes writing safe. *)
RingOf(writer) == writer

TypeOK ==
    (* A machine does not change. *)
    /\ order \in Orders
    (* A program counter. *)
    /\ at \in [Writers -> {"claim", "fill", "publish"}]
    (* 0: none yet. *)
    /\ claim \in [Writers -> {0} \cup Places]
    /\ sent \in [Writers -> 0..Messages]
    (* A record and its position: no more, for a fence is behind each of both. *)
    /\ \A writer \in Writers : Len(stores[writer]) <= 2
    (* Rings have room for everything: a full ring is another model's subject. *)
    /\ cells \in [Rings -> [Places -> Records \cup {NoRecord}]]
    (* Positions only grow. *)
    /\ write \in [Rings -> Nat \ {0}]
    (* The reader never overtakes the writer. *)
    /\ \A ring \in Rings : read[ring] \in 1..write[ring]
    /\ \A ring \in Rings : taken[ring] \in Seq(Records \cup {NoRecord})

Init ==
    /\ order \in Orders
    /\ at = [writer \in Writers |-> "claim"]
    /\ claim = [writer \in Writers |-> 0]
    /\ sent = [writer \in Writers |-> 0]
    /\ stores = [writer \in Writers |-> <<>>]
    /\ cells = [ring \in Rings |-> [place \in Places |-> NoRecord]]
    /\ write = [ring \in Rings |-> 1]
    /\ read = [ring \in Rings |-> 1]
    /\ taken = [ring \in Rings |-> <<>>]

-------------------------------------------------------------------------------

(* A full fence waits until the writer's stores have reached memory. *)
Fence(writer) == stores[writer] = <<>>

(* To ring the bell behind a publication is a full fence: Bell.ring. *)
BellFence(writer) == Fence(writer)

(* A store of a word releases what was written before; TSO does that without a fence. *)
ReleaseFence(writer) == order = "WEAK" => Fence(writer)

Reaches(store) ==
    IF store.place = Position
    THEN write' = [write EXCEPT ![store.ring] = store.value] /\ UNCHANGED cells
    ELSE cells' = [cells EXCEPT ![store.ring][store.place] = store.value] /\ UNCHANGED write

Store(writer, place, value) ==
    LET store == [ring |-> RingOf(writer), place |-> place, value |-> value]
    IN  IF order = "SC"
        THEN Reaches(store) /\ UNCHANGED stores
        ELSE stores' = [stores EXCEPT ![writer] = Append(@, store)] /\ UNCHANGED <<cells, write>>

(* A writer reads its ring's write position: there its next record will go. *)
WriterClaim(writer) ==
    /\ at[writer] = "claim"
    /\ sent[writer] < Messages
    /\ BellFence(writer)
    /\ claim' = [claim EXCEPT ![writer] = write[RingOf(writer)]]
    /\ at' = [at EXCEPT ![writer] = "fill"]
    /\ UNCHANGED <<order, sent, stores, cells, write, read, taken>>

(* The writer stores its record at the place that it claimed; no store of bytes releases anything. *)
WriterFill(writer) ==
    /\ at[writer] = "fill"
    /\ Store(writer, claim[writer], <<writer, sent[writer] + 1>>)
    /\ at' = [at EXCEPT ![writer] = "publish"]
    /\ UNCHANGED <<order, claim, sent, read, taken>>

(* The writer stores the write position behind it. *)
WriterPublish(writer) ==
    /\ at[writer] = "publish"
    /\ ReleaseFence(writer)
    /\ Store(writer, Position, claim[writer] + 1)
    /\ sent' = [sent EXCEPT ![writer] = @ + 1]
    /\ at' = [at EXCEPT ![writer] = "claim"]
    /\ UNCHANGED <<order, claim, read, taken>>

(* The reader takes what lies at a ring's read position, if the write position is behind it. *)
ReaderTake(ring) ==
    /\ read[ring] # write[ring]
    /\ taken' = [taken EXCEPT ![ring] = Append(@, cells[ring][read[ring]])]
    /\ read' = [read EXCEPT ![ring] = @ + 1]
    /\ UNCHANGED <<order, at, claim, sent, stores, cells, write>>

(* A store reaches memory; two to one place stay in order on every machine. *)
HardwareFlush(writer) ==
    \E i \in DOMAIN stores[writer] :
        /\ order = "TSO" => i = 1
        /\ \A earlier \in 1..(i - 1) : stores[writer][earlier].place # stores[writer][i].place
        /\ Reaches(stores[writer][i])
        /\ stores' = [stores EXCEPT ![writer] = SubSeq(@, 1, i - 1) \o SubSeq(@, i + 1, Len(@))]
        /\ UNCHANGED <<order, at, claim, sent, read, taken>>

-------------------------------------------------------------------------------

System ==
    \/ \E writer \in Writers : WriterClaim(writer) \/ WriterFill(writer) \/ WriterPublish(writer)
    \/ \E ring \in Rings : ReaderTake(ring)
Hardware == \E writer \in Writers : HardwareFlush(writer)

(* The numbers of a writer's messages, in the order in which they were taken out of a ring. *)
TakenFrom(ring, writer) ==
    LET Is(record) == record # NoRecord /\ record[1] = writer
        records == SelectSeq(taken[ring], Is)
    IN  [i \in DOMAIN records |-> records[i][2]]

(* Every message was taken out of its ring.  Any other state without a next step is a deadlock. *)
Terminating ==
    /\ \A writer \in Writers : Len(TakenFrom(RingOf(writer), writer)) = Messages /\ stores[writer] = <<>>
    /\ UNCHANGED vars

Next == System \/ Hardware \/ Terminating

Spec == Init /\ [][Next]_vars

(* Writers, reader and machine go on as long as they can. *)
FairSpec ==
    /\ Spec
    /\ \A writer \in Writers :
        WF_vars(WriterClaim(writer)) /\ WF_vars(WriterFill(writer)) /\ WF_vars(WriterPublish(writer))
            /\ WF_vars(HardwareFlush(writer))
    /\ \A ring \in Rings : WF_vars(ReaderTake(ring))

-------------------------------------------------------------------------------

(* Whatever is taken was written before: no place is read whose record is still on its way to memory. *)
NoGarbageTakenInv == \A ring \in Rings : \A i \in DOMAIN taken[ring] : taken[ring][i] # NoRecord

(* What the reader has, or can take. *)
Arrived ==
    UNION {{taken[ring][i] : i \in DOMAIN taken[ring]} : ring \in Rings}
        \cup UNION {{cells[ring][place] : place \in read[ring]..(write[ring] - 1)} : ring \in Rings}

(* Every message whose stores have reached memory was taken, or is still in a ring. *)
NoMessageLostInv ==
    \A writer \in Writers : stores[writer] = <<>> => \A number \in 1..sent[writer] : <<writer, number>> \in Arrived

(* The messages of one writer are taken in order, each once. *)
InOrderOnceInv ==
    \A writer \in Writers : \A ring \in Rings : \A i \in DOMAIN TakenFrom(ring, writer) : TakenFrom(ring, writer)[i] = i

(* Whatever was sent is taken in the end. *)
EveryMessageTakenProp ==
    \A writer \in Writers : \A number \in 1..Messages :
        sent[writer] >= number ~> Len(TakenFrom(RingOf(writer), writer)) >= number
===============================================================================
