--------------------------------- MODULE Fifo ---------------------------------
(* What a reader may rely on: the messages of one writer come in order, once,  *)
(* unaltered, and all of them in the end.                                      *)
EXTENDS Naturals, Sequences
CONSTANTS Writers, Messages
VARIABLES
    sent,            \* writer -> how many messages it has sent: 1, 2, ...
    taken            \* writer -> what the reader got from it, in order

Init ==
    /\ sent = [writer \in Writers |-> 0]
    /\ taken = [writer \in Writers |-> <<>>]

Send(writer) ==
    /\ sent[writer] < Messages
    /\ sent' = [sent EXCEPT ![writer] = @ + 1]
    /\ UNCHANGED taken

Take(writer) ==
    /\ Len(taken[writer]) < sent[writer]
    /\ taken' = [taken EXCEPT ![writer] = Append(@, Len(@) + 1)]
    /\ UNCHANGED sent

Next == \E writer \in Writers : Send(writer) \/ Take(writer)

Spec == Init /\ [][Next]_<<sent, taken>>

(* The reader goes on as long as there is something, whether or not the writers do ... *)
FairReaderSpec == Spec /\ \A writer \in Writers : WF_<<sent, taken>>(Take(writer))
(* ... and the writers go on, too. *)
FairSpec == FairReaderSpec /\ \A writer \in Writers : WF_<<sent, taken>>(Send(writer))
===============================================================================
