---------------------------- MODULE DualWriterRing ----------------------------
(* The main loop and the output thread of one worker both write to the pump.   *)
(* Writing takes two steps, claim a place and publish the record there, and    *)
(* nothing but "one ring, one writer" keeps two writers from one place.        *)
(*                                                                             *)
(*   writer: claim place, publish --> ring [ read .. write ) --> reader: take  *)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
    Writers,        \* the writing contexts; each ring is called by its writer's name
    Messages        \* how many messages each writer sends

VARIABLES
    claim,          \* writer -> the place that it is about to fill; 0: none
    sent,           \* writer -> how many messages it has published: its sequence number
    cells,          \* ring -> place -> the record that lies there
    write,          \* ring -> the place behind the last published record
    read,           \* ring -> the place of the next record to take
    taken           \* writer -> the numbers of its messages, in the order in which the reader took them

vars == <<claim, sent, cells, write, read, taken>>

Rings == Writers
Places == 1..(Cardinality(Writers) * Messages)
Records == Writers \X (1..Messages)     \* <<who wrote it, the how manieth it is>>
NoRecord == <<>>

(* One ring for each writer: this, and nothing else, makes writing safe. *)
RingOf(writer) == writer

Taken(writer) == {taken[writer][i] : i \in DOMAIN taken[writer]}

TypeOK ==
    /\ claim \in [Writers -> {0} \cup Places]
    /\ sent \in [Writers -> 0..Messages]
    (* Rings have room for everything: a full ring is another model's subject. *)
    /\ cells \in [Rings -> [Places -> Records \cup {NoRecord}]]
    (* Positions only grow. *)
    /\ write \in [Rings -> Nat \ {0}]
    (* The reader never overtakes the writer. *)
    /\ \A ring \in Rings : read[ring] \in 1..write[ring]
    /\ \A writer \in Writers : taken[writer] \in Seq(1..Messages)

Init ==
    /\ claim = [writer \in Writers |-> 0]
    /\ sent = [writer \in Writers |-> 0]
    /\ cells = [ring \in Rings |-> [place \in Places |-> NoRecord]]
    /\ write = [ring \in Rings |-> 1]
    /\ read = [ring \in Rings |-> 1]
    /\ taken = [writer \in Writers |-> <<>>]

-------------------------------------------------------------------------------

(* A writer reads its ring's write position: there its next record will go. *)
WriterClaim(writer) ==
    /\ claim[writer] = 0
    /\ sent[writer] < Messages
    /\ claim' = [claim EXCEPT ![writer] = write[RingOf(writer)]]
    /\ UNCHANGED <<sent, cells, write, read, taken>>

(* The writer fills the place that it claimed, and moves the write position behind it. *)
WriterPublish(writer) ==
    /\ claim[writer] # 0
    /\ cells' = [cells EXCEPT ![RingOf(writer)][claim[writer]] = <<writer, sent[writer] + 1>>]
    /\ write' = [write EXCEPT ![RingOf(writer)] = claim[writer] + 1]
    /\ sent' = [sent EXCEPT ![writer] = @ + 1]
    /\ claim' = [claim EXCEPT ![writer] = 0]
    /\ UNCHANGED <<read, taken>>

(* The reader takes the record at a ring's read position, if there is one. *)
ReaderTake(ring) ==
    /\ read[ring] # write[ring]
    /\ LET record == cells[ring][read[ring]]
       IN  taken' = [taken EXCEPT ![record[1]] = Append(@, record[2])]
    /\ read' = [read EXCEPT ![ring] = @ + 1]
    /\ UNCHANGED <<claim, sent, cells, write>>

-------------------------------------------------------------------------------

System ==
    \/ \E writer \in Writers : WriterClaim(writer) \/ WriterPublish(writer)
    \/ \E ring \in Rings : ReaderTake(ring)

(* Every message was sent and taken.  Any other state without a next step is a deadlock. *)
Terminating ==
    /\ \A writer \in Writers : Taken(writer) = 1..Messages
    /\ UNCHANGED vars

Next == System \/ Terminating

Spec == Init /\ [][Next]_vars

(* Writers and reader go on as long as they can. *)
FairSpec ==
    /\ Spec
    /\ \A writer \in Writers : WF_vars(WriterClaim(writer)) /\ WF_vars(WriterPublish(writer))
    /\ \A ring \in Rings : WF_vars(ReaderTake(ring))

-------------------------------------------------------------------------------

(* Records between a ring's read and write positions: published, and not yet taken. *)
Queued == UNION {{cells[ring][place] : place \in read[ring]..(write[ring] - 1)} : ring \in Rings}

(* Every published message was taken or is still in a ring. *)
NoMessageLostInv ==
    \A writer \in Writers : \A number \in 1..sent[writer] :
        number \in Taken(writer) \/ <<writer, number>> \in Queued

(* The messages of one writer are taken in order, each once. *)
InOrderOnceInv == \A writer \in Writers : taken[writer] = [i \in 1..Len(taken[writer]) |-> i]

(* Whatever was sent is taken in the end. *)
EveryMessageTakenProp ==
    \A writer \in Writers : \A number \in 1..Messages : sent[writer] >= number ~> number \in Taken(writer)
===============================================================================
