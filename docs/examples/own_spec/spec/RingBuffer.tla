------------------------------ MODULE RingBuffer ------------------------------
(* A bounded queue.  An offer that finds no room is refused, a poll that finds *)
(* nothing comes back with nothing, and neither changes anything.              *)
EXTENDS Naturals, Sequences

CONSTANTS
    Items,          \* each is offered again and again until it is taken in
    Size            \* how many fit

VARIABLES
    queue,          \* the items that are kept, the oldest first
    accepted,       \* the items that were ever taken in
    polled          \* what the consumer got, in this order

vars == <<queue, accepted, polled>>

Init ==
    /\ queue = <<>>
    /\ accepted = {}
    /\ polled = <<>>

(* Somebody offers an item: it is taken in, or refused. *)
ProducerOffer(item) ==
    /\ item \notin accepted
    /\ IF Len(queue) < Size
       THEN queue' = Append(queue, item) /\ accepted' = accepted \cup {item}
       ELSE UNCHANGED <<queue, accepted>>
    /\ UNCHANGED polled

(* The consumer takes the oldest item, if there is one. *)
ConsumerPoll ==
    /\ \E item \in Items : item \notin {polled[place] : place \in DOMAIN polled}
    /\ IF queue = <<>>
       THEN UNCHANGED <<queue, polled>>
       ELSE queue' = Tail(queue) /\ polled' = Append(polled, Head(queue))
    /\ UNCHANGED accepted

(* Every item has gone through. *)
Terminating ==
    /\ \A item \in Items : item \in {polled[place] : place \in DOMAIN polled}
    /\ UNCHANGED vars

Next == ConsumerPoll \/ Terminating \/ \E item \in Items : ProducerOffer(item)

Spec == Init /\ [][Next]_vars

-------------------------------------------------------------------------------

(* Never are there more items than places. *)
BoundedInv == Len(queue) <= Size

(* Whatever was taken in is in the queue, or came out of it once. *)
NothingLostInv ==
    \A item \in accepted :
        item \in {queue[place] : place \in DOMAIN queue} \cup {polled[place] : place \in DOMAIN polled}
===============================================================================
