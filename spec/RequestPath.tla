------------------------------ MODULE RequestPath ------------------------------
(* The way of a request through the engine, which the models of clients share;  *)
(* each of them chooses what its clients do, and says what must hold.           *)
(*                                                                             *)
(*   client --admit--> scheduler --take--> dispatcher --settle--> stream         *)
(*                                   |                              | wait     *)
(*                                   +--> worker --> pump --> output table       *)
(*                                                                             *)
(* The worker answers at once, and then announces the output, on one way: the   *)
(* pump takes it in that order.  A batch is one request.                        *)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
    Numbers,        \* of the requests, in order of their admission: 1, 2, ...
    Asking,         \* those whose client asks for its output ...
    Closing,        \* ... or closes its stream, at any moment ...
    Deserting,      \* ... or lets go of it, and tells nobody
    Aborted,        \* those of the id that somebody aborts, once they were submitted
    MaxWaiting      \* requests that may wait for their turn

ASSUME EachClientHasOneWay ==
    /\ Numbers = Asking \cup Closing \cup Deserting
    /\ Cardinality(Numbers) = Cardinality(Asking) + Cardinality(Closing) + Cardinality(Deserting)

VARIABLES
    waiting,        \* requests that wait for their turn
    outcome,        \* number -> how the request ended
    output,         \* number -> the id of its output, once its forward is done
    client,         \* number -> what its client is doing
    deserted,       \* requests whose stream was deleted, until the scheduler looks for them
    aborted,        \* whether the abort was called, if there is to be one
    looked,         \* whether somebody has looked at the statistics, if anybody will
    dispatcher,     \* what the dispatcher is doing
    owner,          \* output -> the request that it is computed for, in order of the forwards
    arriving,       \* outputs announced by the worker and not yet delivered by the pump
    opened,         \* outputs that can still be delivered
    cached,         \* outputs that lie in the table and wait for their stream
    awaited         \* outputs with a future in the table

scheduler == <<waiting, outcome, output, deserted>>
table == <<opened, cached, awaited>>
others == <<aborted, looked>>
vars == <<scheduler, client, others, dispatcher, owner, arriving, table>>

None == 0
Outputs == 1 .. Cardinality(Numbers)

TypeOK ==
    (* In order of admission, which is that of their numbers. *)
    /\ waiting \subseteq Numbers
    (* "none": not admitted; "open": not ended. *)
    /\ outcome \in [Numbers -> {"none", "open", "result", "aborted"}]
    (* None until the dispatcher has settled it. *)
    /\ output \in [Numbers -> Outputs \cup {None}]
    (* "asking": until its forward is done, and just before it waits; "having": has the output in hands. *)
    /\ client \in [Numbers -> {"calling", "refused", "asking", "awaiting", "having", "failing", "served", "failed",
                               "holding", "closed", "gone"}]
    (* A list that needs no lock. *)
    /\ deserted \subseteq Deserting
    (* True from the beginning if nobody aborts. *)
    /\ aborted \in BOOLEAN
    (* True from the beginning if nobody lets go of a stream. *)
    /\ looked \in BOOLEAN
    (* "ready": about to look for work; "asleep": until there is some; "took": computes the last of owner. *)
    /\ dispatcher \in {"ready", "asleep", "took"}
    (* An output gets its id when its request is taken. *)
    /\ owner \in Seq(Numbers) /\ Len(owner) <= Cardinality(Numbers)
    (* The pump takes them in order. *)
    /\ arriving \subseteq 1 .. Len(owner)
    (* Minted, and not delivered nor given up. *)
    /\ opened \subseteq 1 .. Len(owner)
    (* At most one copy an output. *)
    /\ cached \subseteq opened
    (* At most one future an output. *)
    /\ awaited \subseteq opened

Init ==
    /\ waiting = {}
    /\ outcome = [number \in Numbers |-> "none"]
    /\ output = [number \in Numbers |-> None]
    /\ client = [number \in Numbers |-> "calling"]
    /\ deserted = {}
    /\ aborted = (Aborted = {})
    /\ looked = (Deserting = {})
    /\ dispatcher = "ready"
    /\ owner = <<>>
    /\ arriving = {}
    /\ opened = {}
    /\ cached = {}
    /\ awaited = {}

-------------------------------------------------------------------------------

Oldest(numbers) == CHOOSE number \in numbers : \A other \in numbers : number <= other

(* What becomes of requests that are to end, as far as they are open: their outcome ... *)
Open(numbers) == {number \in numbers : outcome[number] = "open"}
Ended(numbers) == [number \in Numbers |-> IF number \in Open(numbers) THEN "aborted" ELSE outcome[number]]

(* ... their outputs, which are given up ... *)
GivenUp(numbers) == {output[number] : number \in Open(numbers)} \ {None}

(* ... and their clients: whoever waits for the forward, or for the output, is told. *)
Told(numbers) ==
    [number \in Numbers |->
        IF /\ number \in Open(numbers)
           /\ client[number] = "awaiting" \/ (client[number] = "asking" /\ output[number] = None)
        THEN "failing"
        ELSE client[number]]

(* The table forgets outputs; what arrives of them goes nowhere. *)
Drop(outputs) ==
    /\ opened' = opened \ outputs
    /\ cached' = cached \ outputs
    /\ awaited' = awaited \ outputs

(* A dispatcher that sleeps is woken. *)
Awake == IF dispatcher = "asleep" THEN "ready" ELSE dispatcher

(* What a client does when its request was admitted. *)
Begun(number) == IF number \in Asking THEN "asking" ELSE "holding"

(* How many may wait. *)
HaveRoom(numbers) == Cardinality(numbers) < MaxWaiting

(* A request is admitted, or refused, at the call. *)
EngineAdmit(number) ==
    /\ client[number] = "calling"
    /\ \A other \in Numbers : other < number => client[other] # "calling"
    /\ deserted' = {}
    /\ Drop(GivenUp(deserted))
    /\ IF HaveRoom(waiting \ deserted)
       THEN /\ waiting' = (waiting \ deserted) \cup {number}
            /\ outcome' = [Ended(deserted) EXCEPT ![number] = "open"]
            /\ client' = [client EXCEPT ![number] = Begun(number)]
            /\ dispatcher' = Awake
       ELSE /\ waiting' = waiting \ deserted
            /\ outcome' = Ended(deserted)
            /\ client' = [client EXCEPT ![number] = "refused"]
            /\ UNCHANGED dispatcher
    /\ UNCHANGED <<output, others, owner, arriving>>

(* Whoever sleeps is woken. *)
Looks == dispatcher = "ready"

(* The dispatcher takes the request that has waited longest, and sends it; or it falls asleep. *)
DispatcherTake ==
    /\ Looks
    /\ deserted' = {}
    /\ outcome' = Ended(deserted)
    /\ cached' = cached \ GivenUp(deserted)
    /\ awaited' = awaited \ GivenUp(deserted)
    /\ IF waiting \subseteq deserted
       THEN /\ dispatcher' = "asleep"
            /\ waiting' = {}
            /\ opened' = opened \ GivenUp(deserted)
            /\ UNCHANGED <<owner, arriving>>
       ELSE LET number == Oldest(waiting \ deserted)
            IN /\ dispatcher' = "took"
               /\ waiting' = waiting \ (deserted \cup {number})
               /\ owner' = Append(owner, number)
               /\ opened' = (opened \ GivenUp(deserted)) \cup {Len(owner')}
               /\ arriving' = arriving \cup {Len(owner')}
    /\ UNCHANGED <<output, client, others>>

(* An answer is behind the outputs of earlier forwards. *)
IsBehind(computed, outputs) == \A other \in outputs : other >= computed

(* The dispatcher hands the output's id to the stream, or drops the output if the request has ended. *)
DispatcherSettle ==
    LET computed == Len(owner)
        number == owner[computed]
        wanted == Ended(deserted)[number] = "open"
    IN /\ dispatcher = "took"
       /\ IsBehind(computed, arriving)
       /\ dispatcher' = "ready"
       /\ deserted' = {}
       /\ waiting' = waiting \ deserted
       /\ outcome' = Ended(deserted)
       /\ output' = IF wanted THEN [output EXCEPT ![number] = computed] ELSE output
       /\ Drop(GivenUp(deserted) \cup (IF wanted THEN {} ELSE {computed}))
       /\ UNCHANGED <<client, others, owner, arriving>>

(* The pump resolves the future, caches the output, or discards what nobody wants any more. *)
PumpDeliver ==
    LET first == Oldest(arriving)
    IN /\ arriving # {}
       /\ arriving' = arriving \ {first}
       /\ cached' = IF first \in opened \ awaited THEN cached \cup {first} ELSE cached
       /\ opened' = opened \ (awaited \cap {first})
       /\ awaited' = awaited \ {first}
       /\ client' = [number \in Numbers |->
                        IF first \in awaited /\ output[number] = first THEN "having" ELSE client[number]]
       /\ UNCHANGED <<scheduler, others, dispatcher, owner>>

(* A stream takes the cached output, registers a future, or hears that the output was given up. *)
ConsumerWait(number) ==
    /\ client[number] = "asking"
    /\ output[number] # None
    /\ client' = [client EXCEPT ![number] =
                    CASE output[number] \in cached -> "having"
                      [] output[number] \in opened \ cached -> "awaiting"
                      [] OTHER -> "failing"]
    /\ awaited' = awaited \cup ({output[number]} \cap (opened \ cached))
    /\ opened' = opened \ ({output[number]} \cap cached)
    /\ cached' = cached \ {output[number]}
    /\ UNCHANGED <<scheduler, others, dispatcher, owner, arriving>>

(* A stream gives the output to its client, unless the request has ended. *)
StreamDeliver(number) ==
    /\ client[number] = "having"
    /\ outcome' = [outcome EXCEPT ![number] = IF @ = "open" THEN "result" ELSE @]
    /\ client' = [client EXCEPT ![number] = IF outcome[number] = "open" THEN "served" ELSE "failed"]
    /\ UNCHANGED <<waiting, output, deserted, others, dispatcher, owner, arriving, table>>

(* Who ends its request: a stream that was told of an error, or is closed. *)
MayEnd(number) == client[number] = "failing" \/ (client[number] = "holding" /\ number \in Closing)

(* A stream ends its request. *)
StreamEnd(number) ==
    /\ MayEnd(number)
    /\ outcome' = Ended({number})
    /\ waiting' = waiting \ {number}
    /\ client' = [client EXCEPT ![number] = IF @ = "failing" THEN "failed" ELSE "closed"]
    /\ Drop(GivenUp({number}))
    /\ UNCHANGED <<output, deserted, others, dispatcher, owner, arriving>>

(* The call of submit has returned. *)
Submitted(number) == client[number] # "calling"

(* Those of some requests that are open end. *)
Abort(numbers) ==
    /\ outcome' = Ended(numbers)
    /\ waiting' = waiting \ numbers
    /\ client' = Told(numbers)
    /\ Drop(GivenUp(numbers))
    /\ UNCHANGED <<output, deserted, looked, dispatcher, owner, arriving>>

(* Somebody aborts an id, once requests of it were submitted. *)
EngineAbort ==
    /\ ~aborted
    /\ \A number \in Aborted : Submitted(number)
    /\ aborted' = TRUE
    /\ Abort(Aborted)

(* A stream is deleted: its destructor takes no lock, and ends nothing by itself. *)
StreamDesert(number) ==
    /\ client[number] = "holding"
    /\ number \in Deserting
    /\ client' = [client EXCEPT ![number] = "gone"]
    /\ deserted' = deserted \cup {number}
    /\ UNCHANGED <<waiting, outcome, output, others, dispatcher, owner, arriving, table>>

(* Somebody looks at the statistics, behind the last deletion; the scheduler ends what was deleted, as at each step. *)
EngineStatistics ==
    /\ ~looked
    /\ \A number \in Deserting : client[number] = "gone"
    /\ looked' = TRUE
    /\ deserted' = {}
    /\ outcome' = Ended(deserted)
    /\ waiting' = waiting \ deserted
    /\ Drop(GivenUp(deserted))
    /\ UNCHANGED <<output, client, aborted, dispatcher, owner, arriving>>

-------------------------------------------------------------------------------

Path ==
    \/ DispatcherTake \/ DispatcherSettle \/ PumpDeliver
    \/ \E number \in Numbers :
        EngineAdmit(number) \/ ConsumerWait(number) \/ StreamDeliver(number) \/ StreamEnd(number)

(* All clients are done, and so is the engine. *)
AtRest ==
    /\ \A number \in Numbers : client[number] \in {"refused", "served", "failed", "closed", "gone"}
    /\ aborted /\ looked
    /\ dispatcher = "asleep"
    /\ arriving = {}
    /\ deserted = {}

(* What the engine and the clients do by themselves happens sooner or later. *)
FairPath ==
    /\ WF_vars(DispatcherTake)
    /\ WF_vars(DispatcherSettle)
    /\ WF_vars(PumpDeliver)
    /\ \A number \in Numbers :
        /\ WF_vars(EngineAdmit(number))
        /\ WF_vars(ConsumerWait(number))
        /\ WF_vars(StreamDeliver(number))
        /\ WF_vars(StreamEnd(number))

-------------------------------------------------------------------------------

(* No output lies in the table for a request that has ended, once its forward is settled. *)
NothingForTheEndedInv ==
    \A kept \in cached : outcome[owner[kept]] = "open" \/ (dispatcher = "took" /\ kept = Len(owner))

(* At rest, nothing waits, and the table is empty. *)
NothingLeftInv == AtRest => waiting = {} /\ opened = {}
===============================================================================
