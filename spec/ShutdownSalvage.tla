---------------------------- MODULE ShutdownSalvage ----------------------------
(* A shutdown at any moment of some requests' way.  What has arrived stays its  *)
(* client's; whoever comes too late is told at once; nobody waits for ever.     *)
(*                                                                             *)
(*   shutdown: close the scheduler; once the dispatcher has gone, refuse; stop   *)
(*             the worker; once the pump has gone, close the table              *)
(*                                                                             *)
(* A worker that is told to stop says goodbye; what it has not announced then   *)
(* is lost.  Its answers and outputs go one way, and the pump takes them in     *)
(* order.  A batch is one request.                                              *)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
    Numbers,        \* of the requests, in order of their admission: 1, 2, ...
    Forwards,       \* of the worker, in order: 1, 2, ...; that of a forward is the id of its output
    Closing,        \* who closes the scheduler: "shutdown", and "dispatcher", which leaves behind it
    Ending          \* who closes the table: "pump", which ends behind the worker's goodbye, and "shutdown"

ASSUME OneForwardEach == Cardinality(Forwards) = Cardinality(Numbers)

VARIABLES
    shutdown,       \* how far the shutdown has come
    waiting,        \* requests that wait for their turn
    outcome,        \* number -> how the request ended
    output,         \* number -> the id of its output, once its forward is done
    client,         \* number -> what its client is doing
    dispatcher,     \* what the dispatcher is doing
    owner,          \* output -> the request that it is computed for, in order of the forwards
    computed,       \* outputs that the worker has computed and not yet announced
    lane,           \* what the worker has said and the pump has not yet handled; the first is in its hands
    pump,           \* whether there is one
    opened,         \* outputs that can still be delivered
    cached,         \* outputs that lie in the table and wait for their stream
    awaited,        \* outputs with a future in the table
    arrived         (* ghost *) \* outputs that came to the table when they were wanted

scheduler == <<waiting, outcome, output>>
table == <<opened, cached, awaited>>
vars == <<shutdown, scheduler, client, dispatcher, owner, computed, lane, pump, table, arrived>>

None == 0
Answer == 0         \* on the lane: "compute done"

TypeOK ==
    (* "closed": admits nothing; "refused": no new waits; "stopped": the worker has said goodbye. *)
    /\ shutdown \in {"running", "closed", "refused", "stopped", "over"}
    (* In order of admission, which is that of their numbers. *)
    /\ waiting \subseteq Numbers
    (* "none": not admitted; "open": not ended. *)
    /\ outcome \in [Numbers -> {"none", "open", "result", "shut_down"}]
    (* None until the dispatcher has settled it. *)
    /\ output \in [Numbers -> Forwards \cup {None}]
    (* "asking": until its forward is done, and just before it waits; "having": has the output in hands. *)
    /\ client \in [Numbers -> {"calling", "refused", "asking", "awaiting", "having", "failing", "served", "failed"}]
    (* "took": until the answer comes; "leaving", "left": on its way out. *)
    /\ dispatcher \in {"ready", "asleep", "took", "answered", "leaving", "left", "gone"}
    (* An output gets its id when its request is taken. *)
    /\ owner \in Seq(Numbers) /\ Len(owner) <= Cardinality(Numbers)
    (* Each is announced once. *)
    /\ computed \subseteq 1 .. Len(owner)
    (* An answer that comes first is handled at once. *)
    /\ lane \in Seq(Forwards \cup {Answer}) /\ (lane # <<>> => Head(lane) # Answer)
    (* It goes behind the worker's goodbye. *)
    /\ pump \in {"pumping", "gone"}
    (* Minted, and not delivered nor given up. *)
    /\ opened \subseteq 1 .. Len(owner)
    (* At most one copy an output. *)
    /\ cached \subseteq opened
    (* At most one future an output. *)
    /\ awaited \subseteq opened
    (* A history: it only grows. *)
    /\ arrived \subseteq 1 .. Len(owner)

Init ==
    /\ shutdown = "running"
    /\ waiting = {}
    /\ outcome = [number \in Numbers |-> "none"]
    /\ output = [number \in Numbers |-> None]
    /\ client = [number \in Numbers |-> "calling"]
    /\ dispatcher = "ready"
    /\ owner = <<>>
    /\ computed = {}
    /\ lane = <<>>
    /\ pump = "pumping"
    /\ opened = {}
    /\ cached = {}
    /\ awaited = {}
    /\ arrived = {}

-------------------------------------------------------------------------------

Closed == shutdown # "running"
Refusing == shutdown \in {"refused", "stopped", "over"}
Stopped == shutdown \in {"stopped", "over"}

Oldest(numbers) == CHOOSE number \in numbers : \A other \in numbers : number <= other
Open(numbers) == {number \in numbers : outcome[number] = "open"}
Awake == IF dispatcher = "asleep" THEN "ready" ELSE dispatcher

(* Requests end, as far as they are open: their outputs are given up, and whoever waits is told. *)
End(numbers) ==
    LET given == {output[number] : number \in Open(numbers)} \ {None}
    IN /\ outcome' = [number \in Numbers |-> IF number \in Open(numbers) THEN "shut_down" ELSE outcome[number]]
       /\ waiting' = waiting \ numbers
       /\ client' = [number \in Numbers |->
                        IF /\ number \in Open(numbers)
                           /\ client[number] = "awaiting" \/ (client[number] = "asking" /\ output[number] = None)
                        THEN "failing"
                        ELSE client[number]]
       /\ opened' = opened \ given
       /\ cached' = cached \ given
       /\ awaited' = awaited \ given

(* A request is admitted, or refused, at the call. *)
EngineAdmit(number) ==
    /\ client[number] = "calling"
    /\ \A other \in Numbers : other < number => client[other] # "calling"
    /\ IF Closed
       THEN client' = [client EXCEPT ![number] = "refused"] /\ UNCHANGED <<waiting, outcome, dispatcher>>
       ELSE /\ waiting' = waiting \cup {number}
            /\ outcome' = [outcome EXCEPT ![number] = "open"]
            /\ client' = [client EXCEPT ![number] = "asking"]
            /\ dispatcher' = Awake
    /\ UNCHANGED <<shutdown, output, owner, computed, lane, pump, table, arrived>>

(* The scheduler admits nothing more, and ends what waits; what is computed is left to its client. *)
EngineClose(by) ==
    /\ \/ by = "shutdown" /\ shutdown = "running" /\ shutdown' = "closed" /\ dispatcher' = Awake
       \/ by = "dispatcher" /\ dispatcher = "leaving" /\ dispatcher' = "left" /\ UNCHANGED shutdown
    /\ End(waiting)
    /\ UNCHANGED <<output, owner, computed, lane, pump, arrived>>

(* The dispatcher sends the request that has waited longest, falls asleep, or leaves. *)
DispatcherTake ==
    /\ dispatcher = "ready"
    /\ IF Closed \/ waiting = {}
       THEN /\ dispatcher' = IF Closed THEN "leaving" ELSE "asleep"
            /\ UNCHANGED <<waiting, owner, computed, lane, opened>>
       ELSE /\ dispatcher' = IF lane = <<>> THEN "answered" ELSE "took"
            /\ lane' = IF lane = <<>> THEN lane ELSE Append(lane, Answer)
            /\ waiting' = waiting \ {Oldest(waiting)}
            /\ owner' = Append(owner, Oldest(waiting))
            /\ computed' = computed \cup {Len(owner')}
            /\ opened' = opened \cup {Len(owner')}
    /\ UNCHANGED <<shutdown, outcome, output, client, pump, cached, awaited, arrived>>

(* The dispatcher hands the output's id to the stream, or drops the output if the request has ended. *)
DispatcherSettle ==
    LET number == owner[Len(owner)]
        dropped == IF outcome[number] = "open" THEN {} ELSE {Len(owner)}
    IN /\ dispatcher = "answered"
       /\ dispatcher' = "ready"
       /\ output' = IF dropped = {} THEN [output EXCEPT ![number] = Len(owner)] ELSE output
       /\ opened' = opened \ dropped
       /\ cached' = cached \ dropped
       /\ UNCHANGED <<shutdown, waiting, outcome, client, owner, computed, lane, pump, awaited, arrived>>

(* The dispatcher ends all that is not computed, and is gone. *)
DispatcherLeave ==
    /\ dispatcher = "left"
    /\ dispatcher' = "gone"
    /\ End({number \in Numbers : output[number] = None})
    /\ UNCHANGED <<shutdown, output, owner, computed, lane, pump, arrived>>

(* The worker announces an output, which is lost behind its goodbye. *)
WorkerAnnounce(forward) ==
    /\ forward \in computed
    /\ computed' = computed \ {forward}
    /\ lane' = IF Stopped THEN lane ELSE Append(lane, forward)
    /\ UNCHANGED <<shutdown, scheduler, client, dispatcher, owner, pump, table, arrived>>

(* The pump resolves a future, caches an output, or discards it; an answer that is next goes on to the dispatcher. *)
PumpDeliver ==
    LET first == Head(lane)
        rest == Tail(lane)
        answered == rest # <<>> /\ Head(rest) = Answer
    IN /\ lane # <<>>
       /\ lane' = IF answered THEN Tail(rest) ELSE rest
       /\ dispatcher' = IF answered THEN "answered" ELSE dispatcher
       /\ cached' = IF first \in opened \ awaited THEN cached \cup {first} ELSE cached
       /\ opened' = opened \ (awaited \cap {first})
       /\ awaited' = awaited \ {first}
       /\ arrived' = arrived \cup (opened \cap {first})
       /\ client' = [number \in Numbers |->
                        IF first \in awaited /\ output[number] = first THEN "having" ELSE client[number]]
       /\ UNCHANGED <<shutdown, scheduler, owner, computed, pump>>

(* A stream takes the cached output, registers a future, or is refused. *)
ConsumerWait(number) ==
    LET wanted == {output[number]}
    IN /\ client[number] = "asking"
       /\ output[number] # None
       /\ client' = [client EXCEPT ![number] =
                        CASE wanted \subseteq cached -> "having"
                          [] wanted \subseteq opened \ cached /\ ~Refusing -> "awaiting"
                          [] OTHER -> "failing"]
       /\ awaited' = IF Refusing THEN awaited ELSE awaited \cup (wanted \cap (opened \ cached))
       /\ opened' = IF Refusing THEN opened \ wanted ELSE opened \ (wanted \cap cached)
       /\ cached' = cached \ wanted
       /\ UNCHANGED <<shutdown, scheduler, dispatcher, owner, computed, lane, pump, arrived>>

(* A stream gives the output to its client, unless the request has ended. *)
StreamDeliver(number) ==
    /\ client[number] = "having"
    /\ outcome' = [outcome EXCEPT ![number] = IF @ = "open" THEN "result" ELSE @]
    /\ client' = [client EXCEPT ![number] = IF outcome[number] = "open" THEN "served" ELSE "failed"]
    /\ UNCHANGED <<shutdown, waiting, output, dispatcher, owner, computed, lane, pump, table, arrived>>

(* A stream that was told of an error ends its request. *)
StreamEnd(number) ==
    /\ client[number] = "failing"
    /\ outcome' = [outcome EXCEPT ![number] = IF @ = "open" THEN "shut_down" ELSE @]
    /\ client' = [client EXCEPT ![number] = "failed"]
    /\ UNCHANGED <<shutdown, waiting, output, dispatcher, owner, computed, lane, pump, table, arrived>>

(* Once the dispatcher has gone, the table refuses new waits; what is awaited may come. *)
ExecutorRefuse ==
    /\ shutdown = "closed"
    /\ dispatcher = "gone"
    /\ shutdown' = "refused"
    /\ UNCHANGED <<scheduler, client, dispatcher, owner, computed, lane, pump, table, arrived>>

(* The worker is told to stop, and says goodbye. *)
ExecutorStop ==
    /\ shutdown = "refused"
    /\ shutdown' = "stopped"
    /\ UNCHANGED <<scheduler, client, dispatcher, owner, computed, lane, pump, table, arrived>>

(* The pump, when it has handled all that was said, and then the shutdown fail what is awaited. *)
ExecutorClose(by) ==
    /\ shutdown = "stopped"
    /\ \/ by = "pump" /\ pump = "pumping" /\ lane = <<>> /\ pump' = "gone" /\ UNCHANGED shutdown
       \/ by = "shutdown" /\ pump = "gone" /\ shutdown' = "over" /\ UNCHANGED pump
    /\ client' = [number \in Numbers |-> IF client[number] = "awaiting" THEN "failing" ELSE client[number]]
    /\ opened' = cached
    /\ awaited' = {}
    /\ UNCHANGED <<scheduler, dispatcher, owner, computed, lane, cached, arrived>>

-------------------------------------------------------------------------------

System ==
    \/ DispatcherTake \/ DispatcherSettle \/ DispatcherLeave \/ PumpDeliver \/ ExecutorRefuse \/ ExecutorStop
    \/ \E forward \in Forwards : WorkerAnnounce(forward)
    \/ \E by \in Ending : ExecutorClose(by)
Env ==
    \/ \E by \in Closing : EngineClose(by)
    \/ \E number \in Numbers : EngineAdmit(number) \/ ConsumerWait(number) \/ StreamDeliver(number) \/ StreamEnd(number)

AtRest ==
    /\ shutdown = "over"
    /\ \A number \in Numbers : client[number] \in {"refused", "served", "failed"}
    /\ computed = {}

(* Any other state without a next step is a deadlock. *)
Terminating == AtRest /\ UNCHANGED vars

Next == System \/ Env \/ Terminating

Spec == Init /\ [][Next]_vars

(* What engine and clients do by themselves happens sooner or later; nobody has to begin the shutdown. *)
FairSpec ==
    /\ Spec
    /\ WF_vars(System)
    /\ WF_vars(EngineClose("dispatcher"))
    /\ \A number \in Numbers : WF_vars(ConsumerWait(number)) /\ WF_vars(StreamDeliver(number)) /\ WF_vars(StreamEnd(number))

-------------------------------------------------------------------------------

(* Once the shutdown has returned, no future is pending, and no request waits for its turn. *)
NothingPendingInv == shutdown = "over" => awaited = {} /\ waiting = {}

(* No request whose output has arrived ends by the shutdown. *)
ArrivedIsSalvagedInv == \A one \in arrived : outcome[owner[one]] # "shut_down"

(* At rest, the table is empty. *)
NothingLeftInv == AtRest => opened = {}

(* A shutdown that has begun ends; and whoever asks behind its beginning gets the output, or is told. *)
ShutdownEndsProp ==
    /\ shutdown = "closed" ~> shutdown = "over"
    /\ \A number \in Numbers :
        shutdown = "closed" /\ client[number] = "asking" ~> client[number] \in {"served", "failed"}
===============================================================================
