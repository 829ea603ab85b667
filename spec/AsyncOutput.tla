------------------------------ MODULE AsyncOutput ------------------------------
(* The whole path: from the call that submits a request to its one outcome,    *)
(* with aborts, timeouts, ids that are used again, sleep, a worker that dies,  *)
(* and shutdown.  Each part has a smaller model of its own; here they meet.    *)
(*                                                                             *)
(*   submitter --admit--> waiting --take--> dispatcher --send--> commands      *)
(*                                                                  |          *)
(*   stream <-- table <-- pump <-- lanes <-- worker: main loop, output thread  *)
(*                                                                             *)
(* Requests are numbered in the order of the calls that submit them.  A batch  *)
(* of one is announced under the id that its consumer asks for; one of several *)
(* is announced as a whole, and holds one output a request.                    *)
(* What a task does next is its program counter: `at` "Send" means that its    *)
(* next region is Dispatcher.Send; the others are places where it waits.       *)
EXTENDS Naturals, FiniteSets, Sequences

CONSTANTS
    Numbers,        \* of the calls that submit a request: 1, 2, ...
    Requests,       \* the clients' names of requests; a name may be used again
    Submitted,      \* number -> the name of its request
    Batches,        \* ids that may be minted
    Minted,         \* how manieth -> the id
    Outputs,        \* ids that consumers may ask for
    Parts,          \* batch of several -> place -> the id of the output there
    MaxBatch,       \* requests that are computed together, at most
    Rpcs,           \* numbers of calls to the worker
    Lanes,          \* from the worker to the engine
    LaneOf,         \* thread of the worker -> the lane that it writes to
    Threads,        \* of the worker: "main" and "output"
    Closers,        \* who may close the scheduler: the shutdown, the dispatcher, the pump
    Enders,         \* who may close the table: the shutdown, the pump
    Callers,        \* tasks that call the worker: the dispatcher, and one that lets it sleep and wake
    Errands,        \* what the other caller calls, in order
    Aborting,       \* names that somebody aborts, once, at any moment
    Impatient,      \* numbers whose consumer may give up at any moment: by timeout, or because it goes away
    Failing,        \* numbers at which the pipeline's forward raises
    MayTimeOut,     \* who may lose patience: callers, the drain, the shutdown
    MayDie          \* whether the worker may be killed

VARIABLES
    (* The scheduler, and those who use it. *)
    submitted,      \* how many calls were made
    waiting,        \* numbers that wait for their turn
    outcome,        \* number -> what became of it
    computed,       \* number -> the output to ask for, once it is computed
    closed,         \* why nothing is admitted any more
    aborting,       \* names still to be aborted
    stream,         \* number -> what its consumer does next
    (* The dispatcher and other callers of the worker. *)
    at,             \* caller -> what it does next
    call,           \* caller -> the number of its call
    answer,         \* caller -> how its call was decided
    errands,        \* what the other caller has still to call
    job,            (* ghost *) \* what the dispatcher computes: an id, its numbers, why it failed; shows in its steps
    (* The output table. *)
    minted,         \* how many ids it has made
    calls,          (* ghost *) \* how many calls were made
    asked,          \* calls without an answer
    open,           \* outputs that may still be delivered
    registered,     \* outputs with a future
    cached,         \* outputs that wait for their consumer
    splits,         \* batches whose split map waits for them
    unsplit,        \* batches that wait for their split map
    refusing,       \* why nothing can be asked of it any more
    (* The worker, and the links to and from it. *)
    commands,       \* sent, and not yet served
    main,           \* what the main loop does next, and for which call
    courier,        \* what the output thread does next
    inflight,       \* batches that are computed and not yet counted off
    asleep,         \* whether the device memory was given back
    alive,
    lanes,          \* lane -> what is on its way
    said,           \* threads that have closed their lane
    (* The pump and the shutdown. *)
    pump,           \* what the pump does next, and the output in its hands
    shutdown,       \* what the shutdown does next
    lost,           (* ghost *) \* number -> why the future of its consumer has failed, if it is for the end of all
    holds,          (* ghost *) \* batch -> the numbers that were computed in it
    came,           (* ghost *) \* outputs that have reached the table
    ruined          (* ghost *) \* batches that were copied from memory that had been given back

scheduler == <<submitted, waiting, outcome, computed, closed, aborting>>
callers == <<at, call, answer, errands, job>>
ids == <<minted, calls>>
outputs == <<open, registered, cached, splits, unsplit>>
table == <<ids, asked, outputs, refusing>>
worker == <<main, courier, inflight, asleep, alive>>
links == <<commands, lanes, said>>
ghosts == <<lost, holds, came, ruined>>
vars == <<scheduler, stream, callers, table, worker, links, pump, shutdown, ghosts>>

None == "none"
NoJob == [id |-> None, numbers |-> {}, failed |-> None]
Idle == [at |-> "idle", output |-> None]
Ends == {"result", "error", "aborted", "timed out", "shut down"}
Whys == {None, "error", "shut down"}
Dispatching == "dispatcher"

TypeOK ==
    /\ submitted \in 0..Cardinality(Numbers)
    /\ waiting \subseteq Numbers
    (* "absent": not submitted yet; "refused": nothing of it is kept. *)
    /\ outcome \in [Numbers -> {"absent", "open", "refused"} \cup Ends]
    (* "failed": it will never be computed, or need not be. *)
    /\ computed \in [Numbers -> {"pending", "failed"} \cup Outputs]
    /\ closed \in Whys
    /\ aborting \subseteq Requests
    (* "computing": waits until it is computed; "asking": holds a future. *)
    /\ stream \in [Numbers -> {"absent", "computing", "Wait", "asking", "Deliver", "End", "ended"}]
    (* "idle": waits for requests; "calling": waits for the answer. *)
    /\ at \in [Callers -> {"idle", "Take", "Mint", "Call", "Send", "calling", "Wake", "Abandon", "Forget", "Drop",
                           "Expect", "Settle", "Close", "Leave", "ended"}]
    /\ call \in [Callers -> {0} \cup Rpcs]
    (* "failed": says the worker; "error", "shut down": nobody will answer it any more. *)
    /\ answer \in [Callers -> {"done", "failed"} \cup Whys]
    /\ Len(errands) <= Len(Errands)
    /\ job \in [id : {None} \cup Batches, numbers : SUBSET Numbers, failed : Whys \cup {"timed out"}]
    /\ minted \in 0..Cardinality(Batches)
    /\ calls \in 0..Cardinality(Rpcs)
    /\ asked \subseteq Rpcs
    /\ open \subseteq Outputs
    (* At most one future, and one copy, an output. *)
    /\ registered \subseteq open
    /\ cached \subseteq open \ registered
    (* A batch is in one of them at most. *)
    /\ splits \subseteq Batches
    /\ unsplit \subseteq Batches \ splits
    /\ refusing \in Whys
    /\ \A place \in DOMAIN commands : commands[place].rpc \in {0} \cup Rpcs
    /\ main \in [at : {"idle", "Reply", "ended"}, rpc : {0} \cup Rpcs, answer : {None, "done", "failed"}]
    /\ courier \in {"idle", "Settle", "ended"}
    /\ \A place \in DOMAIN inflight : inflight[place] \in Batches
    /\ asleep \in BOOLEAN
    /\ alive \in BOOLEAN
    /\ DOMAIN lanes = Lanes
    /\ said \subseteq Threads
    (* "Tell": it has failed, and the engine is to be told of it. *)
    /\ pump \in [at : {"unpacked"}, output : Batches] \cup [at : {"idle", "Tell", "ended"}, output : {None}]
    /\ shutdown \in {"Close", "joining", "Refuse", "Stop", "stopping", "ended"}
    /\ lost \in [Numbers -> Whys]
    /\ holds \in [Batches -> SUBSET Numbers]
    /\ came \subseteq Outputs
    /\ ruined \subseteq Batches

Init ==
    /\ submitted = 0
    /\ waiting = {}
    /\ outcome = [number \in Numbers |-> "absent"]
    /\ computed = [number \in Numbers |-> "pending"]
    /\ closed = None
    /\ aborting = Aborting
    /\ stream = [number \in Numbers |-> "absent"]
    /\ at = [caller \in Callers |-> IF caller = Dispatching THEN "Take" ELSE IF Errands = <<>> THEN "ended" ELSE "Call"]
    /\ call = [caller \in Callers |-> 0]
    /\ answer = [caller \in Callers |-> None]
    /\ errands = Errands
    /\ job = NoJob
    /\ minted = 0
    /\ calls = 0
    /\ asked = {}
    /\ open = {}
    /\ registered = {}
    /\ cached = {}
    /\ splits = {}
    /\ unsplit = {}
    /\ refusing = None
    /\ commands = <<>>
    /\ main = [at |-> "idle", rpc |-> 0, answer |-> None]
    /\ courier = "idle"
    /\ inflight = <<>>
    /\ asleep = FALSE
    /\ alive = TRUE
    /\ lanes = [lane \in Lanes |-> <<>>]
    /\ said = {}
    /\ pump = Idle
    /\ shutdown = "Close"
    /\ lost = [number \in Numbers |-> None]
    /\ holds = [id \in Batches |-> {}]
    /\ came = {}
    /\ ruined = {}

-------------------------------------------------------------------------------

Smallest(numbers, count) == {number \in numbers : Cardinality({n \in numbers : n < number}) < count}

(* The output of a request in a batch. *)
OutputOf(id, numbers, number) ==
    IF Cardinality(numbers) = 1 THEN id ELSE Parts[id][Cardinality({n \in numbers : n <= number})]

OutputsOf(id, numbers) == {OutputOf(id, numbers, number) : number \in numbers}

(* The batches of which nothing is open any more. *)
Done(opened) == {id \in Batches : OutputsOf(id, holds[id]) \cap opened = {}}

(* Outputs are given up: what of them is open is settled, wherever it lies. *)
Drop(given) ==
    /\ open' = open \ given
    /\ registered' = registered \ given
    /\ cached' = cached \ given
    /\ splits' = splits \ Done(open \ given)
    /\ unsplit' = unsplit \ Done(open \ given)

(* Open requests end; the outputs of those that are computed are given up, and so are `others`. *)
End(numbers, why, others) ==
    LET ending == {number \in numbers : outcome[number] = "open"}
        given == {computed[number] : number \in ending} \cap Outputs
    IN  /\ outcome' = [number \in Numbers |-> IF number \in ending THEN why ELSE outcome[number]]
        /\ waiting' = waiting \ ending
        /\ computed' = [number \in Numbers |->
                            IF number \in ending /\ computed[number] = "pending" THEN "failed" ELSE computed[number]]
        /\ Drop((given \cup others) \cap open)

(* What the end of others does to a consumer that waits. *)
Left(numbers) ==
    [number \in Numbers |->
        IF number \in numbers /\ outcome[number] = "open" /\ stream[number] \in {"computing", "asking"}
        THEN "End" ELSE stream[number]]

Awake == [at EXCEPT ![Dispatching] = IF @ = "idle" THEN "Take" ELSE @]

-------------------------------------------------------------------------------

(* A request is admitted, or refused, at the call. *)
EngineAdmit(request) ==
    /\ submitted < Cardinality(Numbers)
    /\ Submitted[submitted + 1] = request
    /\ submitted' = submitted + 1
    /\ IF closed = None
       THEN /\ outcome' = [outcome EXCEPT ![submitted + 1] = "open"]
            /\ stream' = [stream EXCEPT ![submitted + 1] = "computing"]
            /\ waiting' = waiting \cup {submitted + 1}
            /\ at' = Awake
       ELSE /\ outcome' = [outcome EXCEPT ![submitted + 1] = "refused"]
            /\ UNCHANGED <<stream, waiting, at>>
    /\ UNCHANGED <<computed, closed, aborting, call, answer, errands, job, table, worker, links, pump, shutdown, ghosts>>

(* All open requests of a name are ended, wherever they are. *)
EngineAbort(request) ==
    LET numbers == {number \in Numbers : Submitted[number] = request}
    IN  /\ request \in aborting
        /\ aborting' = aborting \ {request}
        /\ stream' = Left(numbers)
        /\ End(numbers, "aborted", {})
        /\ UNCHANGED <<submitted, closed, callers, ids, asked, refusing, worker, links, pump, shutdown, ghosts>>

(* Nothing more is admitted, and what waits is ended: by the shutdown, the dispatcher at its end, or the pump. *)
EngineClose(by) ==
    LET why == IF by = "pump" THEN "error" ELSE "shut down"
    IN  /\ \/ by = "shutdown" /\ shutdown = "Close"
           \/ by = Dispatching /\ at[Dispatching] = "Close"
           \/ by = "pump" /\ pump.at = "Tell"
        /\ closed' = IF closed = None THEN why ELSE closed
        /\ stream' = Left(waiting)
        /\ End(waiting, why, {})
        /\ at' = IF by = Dispatching THEN [at EXCEPT ![Dispatching] = "Leave"] ELSE Awake
        /\ shutdown' = IF by = "shutdown" THEN "joining" ELSE shutdown
        /\ pump' = IF by = "pump" THEN [pump EXCEPT !.at = "ended"] ELSE pump
        /\ UNCHANGED <<submitted, aborting, call, answer, errands, job, ids, asked, refusing, worker, links, ghosts>>

-------------------------------------------------------------------------------

Goes(caller, verb) == at' = [at EXCEPT ![caller] = verb]

(* A call is over: the other caller goes on to its next errand. *)
Returns(caller) ==
    /\ Goes(caller, IF Len(errands) = 1 THEN "ended" ELSE "Call")
    /\ errands' = Tail(errands)
    /\ UNCHANGED job

(* A batch has failed: its outputs are given up next. *)
Fails(why) ==
    /\ Goes(Dispatching, "Drop")
    /\ job' = [job EXCEPT !.failed = why]
    /\ UNCHANGED errands

FailsOrReturns(caller, why) == IF caller = Dispatching THEN Fails(why) ELSE Returns(caller)

(* The dispatcher takes what is to be computed together; nothing, if all of it was ended meanwhile, or it merely looks. *)
DispatcherTake ==
    /\ at[Dispatching] = "Take" \/ (at[Dispatching] = "idle" /\ Dispatching \in MayTimeOut)
    /\ IF closed # None
       THEN Goes(Dispatching, "Close") /\ UNCHANGED <<job, waiting>>
       ELSE IF waiting = {}
       THEN Goes(Dispatching, "idle") /\ UNCHANGED <<job, waiting>>
       ELSE /\ Goes(Dispatching, "Mint")
            /\ job' = [NoJob EXCEPT !.numbers = Smallest(waiting, MaxBatch)]
            /\ waiting' = waiting \ Smallest(waiting, MaxBatch)
    /\ UNCHANGED <<submitted, outcome, computed, closed, aborting, stream, call, answer, errands, table, worker, links, pump,
                   shutdown, ghosts>>

(* The ids of its outputs are made. *)
DispatcherMint ==
    /\ at[Dispatching] = "Mint"
    /\ IF refusing # None
       THEN /\ Goes(Dispatching, "Settle")
            /\ job' = [job EXCEPT !.failed = refusing]
            /\ UNCHANGED <<minted, open, holds>>
       ELSE LET id == Minted[minted + 1]
            IN  /\ Goes(Dispatching, "Call")
                /\ minted' = minted + 1
                /\ job' = [job EXCEPT !.id = id]
                /\ open' = open \cup OutputsOf(id, job.numbers)
                /\ holds' = [holds EXCEPT ![id] = job.numbers]
    /\ UNCHANGED <<scheduler, stream, call, answer, errands, calls, asked, registered, cached, splits, unsplit, refusing, worker,
                   links, pump, shutdown, lost, came, ruined>>

(* Calls are numbered as they come: whoever calls has taken the number a moment before. *)
Numbered(rpc) == rpc = calls + 1

(* A call is registered before it is sent, so that its answer finds it. *)
DispatcherCall(by, rpc) ==
    /\ at[by] = "Call"
    /\ Numbered(rpc)
    /\ calls' = calls + 1
    /\ IF refusing # None
       THEN FailsOrReturns(by, refusing) /\ UNCHANGED <<asked, call, answer>>
       ELSE /\ Goes(by, "Send")
            /\ asked' = asked \cup {rpc}
            /\ call' = [call EXCEPT ![by] = rpc]
            /\ answer' = [answer EXCEPT ![by] = None]
            /\ UNCHANGED <<errands, job>>
    /\ UNCHANGED <<scheduler, stream, minted, outputs, refusing, worker, links, pump, shutdown, ghosts>>

Stopped == shutdown \in {"Stop", "stopping", "ended"}

Sent(command) == commands' = IF alive THEN Append(commands, command) ELSE commands

(* Behind the beginning of a shutdown nothing is sent. *)
DispatcherSend(by, rpc) ==
    /\ at[by] = "Send"
    /\ rpc = call[by]
    /\ IF Stopped
       THEN Goes(by, "Forget") /\ UNCHANGED commands
       ELSE /\ Goes(by, IF answer[by] = None THEN "calling" ELSE "Wake")
            /\ Sent([rpc |-> rpc, does |-> IF by = Dispatching THEN job.id ELSE Head(errands)])
    /\ UNCHANGED <<scheduler, stream, call, answer, errands, job, table, worker, lanes, said, pump, shutdown, ghosts>>

(* A caller finds its call decided, or has waited too long. *)
DispatcherWake(by, rpc) ==
    /\ at[by] = "Wake" \/ (at[by] = "calling" /\ by \in MayTimeOut)
    /\ rpc = call[by]
    /\ IF answer[by] \in Whys
       THEN Goes(by, "Abandon") /\ UNCHANGED <<errands, job>>
       ELSE IF by # Dispatching
       THEN Returns(by)
       ELSE IF answer[by] = "failed"
       THEN Fails("error")
       ELSE Goes(by, IF Cardinality(job.numbers) = 1 THEN "Settle" ELSE "Expect") /\ UNCHANGED <<errands, job>>
    /\ UNCHANGED <<scheduler, stream, call, answer, table, worker, links, pump, shutdown, ghosts>>

(* A call that was given up, or failed with the table, is forgotten: its answer will be discarded. *)
DispatcherAbandon(by, rpc) ==
    /\ at[by] = "Abandon"
    /\ rpc = call[by]
    /\ asked' = asked \ {rpc}
    /\ FailsOrReturns(by, IF answer[by] = None THEN "timed out" ELSE answer[by])
    /\ UNCHANGED <<scheduler, stream, call, answer, ids, outputs, refusing, worker, links, pump, shutdown, ghosts>>

(* A call that was not sent is forgotten. *)
DispatcherForget(by, rpc) ==
    /\ at[by] = "Forget"
    /\ rpc = call[by]
    /\ asked' = asked \ {rpc}
    /\ FailsOrReturns(by, "shut down")
    /\ UNCHANGED <<scheduler, stream, call, answer, ids, outputs, refusing, worker, links, pump, shutdown, ghosts>>

(* The outputs of a batch that has failed are given up. *)
ConsumerDrop(output) ==
    /\ at[Dispatching] = "Drop"
    /\ output = job.id
    /\ Goes(Dispatching, "Settle")
    /\ Drop(OutputsOf(output, job.numbers) \cap open)
    /\ UNCHANGED <<scheduler, stream, call, answer, errands, job, ids, asked, refusing, worker, links, pump, shutdown,
                   ghosts>>

(* The batch that came early is split, or its split map is registered: one critical section. *)
DispatcherExpect(batch) ==
    LET parts == OutputsOf(batch, job.numbers)
    IN  /\ at[Dispatching] = "Expect"
        /\ batch = job.id
        /\ IF batch \in unsplit
           THEN /\ unsplit' = unsplit \ {batch}
                /\ cached' = cached \cup (parts \cap open)
                /\ came' = came \cup (parts \cap open)
                /\ Goes(Dispatching, "Settle")
                /\ UNCHANGED <<splits, job, errands>>
           ELSE /\ splits' = IF parts \cap open \subseteq cached THEN splits ELSE splits \cup {batch}
                /\ IF parts \cap open = {} /\ refusing # None
                   THEN Fails(refusing)
                   ELSE Goes(Dispatching, "Settle") /\ UNCHANGED <<job, errands>>
                /\ UNCHANGED <<unsplit, cached, came>>
        /\ UNCHANGED <<scheduler, stream, call, answer, ids, asked, open, registered, refusing, worker, links, pump,
                       shutdown, lost, holds, ruined>>

(* The requests of a batch are told that it is computed, or failed; outputs of those that have ended are given up. *)
DispatcherSettle ==
    LET told == {number \in job.numbers : outcome[number] = "open"}
        late == {OutputOf(job.id, job.numbers, number) : number \in job.numbers \ told}
    IN  /\ at[Dispatching] = "Settle"
        /\ Goes(Dispatching, "Take")
        /\ job' = NoJob
        /\ IF job.failed # None
           THEN /\ stream' = Left(job.numbers)
                /\ End(job.numbers, job.failed, {})
           ELSE /\ computed' = [number \in Numbers |->
                        IF number \in told THEN OutputOf(job.id, job.numbers, number) ELSE computed[number]]
                /\ stream' = [number \in Numbers |->
                        IF number \in told /\ stream[number] = "computing" THEN "Wait" ELSE stream[number]]
                /\ Drop(late \cap open)
                /\ UNCHANGED <<outcome, waiting>>
        /\ UNCHANGED <<submitted, closed, aborting, call, answer, errands, ids, asked, refusing, worker, links, pump,
                       shutdown, ghosts>>

(* The dispatcher ends; what is not computed then never will be. *)
DispatcherLeave ==
    LET left == {number \in Numbers : computed[number] = "pending"}
    IN  /\ at[Dispatching] = "Leave"
        /\ Goes(Dispatching, "ended")
        /\ stream' = Left(left)
        /\ End(left, "shut down", {})
        /\ UNCHANGED <<submitted, closed, aborting, call, answer, errands, job, ids, asked, refusing, worker, links,
                       pump, shutdown, ghosts>>

-------------------------------------------------------------------------------

Answered(thread, message) == lanes' = [lanes EXCEPT ![LaneOf[thread]] = Append(@, message)]

(* The main loop takes a batch, computes it, and hands it to the output thread. *)
WorkerHandOver(output) ==
    /\ alive
    /\ main.at = "idle"
    /\ commands # <<>>
    /\ Head(commands).does = output
    /\ ~asleep
    /\ holds[output] \cap Failing = {}
    /\ commands' = Tail(commands)
    /\ main' = [at |-> "Reply", rpc |-> Head(commands).rpc, answer |-> "done"]
    /\ inflight' = Append(inflight, output)
    /\ UNCHANGED <<scheduler, stream, callers, table, courier, asleep, alive, lanes, said, pump, shutdown, ghosts>>

(* Before it sleeps or wakes it waits until nothing is in flight, or has waited too long. *)
WorkerDrain ==
    /\ alive
    /\ main.at = "idle"
    /\ commands # <<>>
    /\ Head(commands).does = IF asleep THEN "wake" ELSE "sleep"
    /\ inflight = <<>> \/ "drain" \in MayTimeOut
    /\ commands' = Tail(commands)
    /\ main' = [at |-> "Reply", rpc |-> Head(commands).rpc, answer |-> IF inflight = <<>> THEN "done" ELSE "failed"]
    /\ asleep' = IF inflight = <<>> THEN Head(commands).does = "sleep" ELSE asleep
    /\ UNCHANGED <<scheduler, stream, callers, table, courier, inflight, alive, lanes, said, pump, shutdown, ghosts>>

(* It answers the call; with a batch that cannot be computed, and when it is to wake and does not sleep, at once. *)
WorkerReply(rpc) ==
    /\ alive
    /\ \/ /\ main.at = "Reply"
          /\ main.rpc = rpc
          /\ Answered("main", [says |-> main.answer, rpc |-> rpc, output |-> None])
          /\ UNCHANGED commands
       \/ /\ main.at = "idle"
          /\ commands # <<>>
          /\ Head(commands).rpc = rpc
          /\ IF Head(commands).does \in Batches
             THEN asleep \/ holds[Head(commands).does] \cap Failing # {}
             ELSE Head(commands).does = "wake" /\ ~asleep
          /\ Answered("main", [says |-> IF Head(commands).does = "wake" THEN "done" ELSE "failed",
                               rpc |-> rpc, output |-> None])
          /\ commands' = Tail(commands)
    /\ main' = [at |-> "idle", rpc |-> 0, answer |-> None]
    /\ UNCHANGED <<scheduler, stream, callers, table, courier, inflight, asleep, alive, said, pump, shutdown, ghosts>>

(* The output thread has copied a batch, and announces it. *)
WorkerAnnounce(output) ==
    /\ alive
    /\ courier = "idle"
    /\ inflight # <<>>
    /\ Head(inflight) = output
    /\ courier' = "Settle"
    /\ Answered("output", [says |-> "ready", rpc |-> 0, output |-> output])
    /\ ruined' = IF asleep THEN ruined \cup {output} ELSE ruined
    /\ UNCHANGED <<scheduler, stream, callers, table, main, inflight, asleep, alive, commands, said, pump, shutdown,
                   lost, holds, came>>

(* It counts the batch off: nobody reads device memory for it any more. *)
WorkerSettle(output) ==
    /\ alive
    /\ courier = "Settle"
    /\ Head(inflight) = output
    /\ courier' = "idle"
    /\ inflight' = Tail(inflight)
    /\ UNCHANGED <<scheduler, stream, callers, table, main, asleep, alive, links, pump, shutdown, ghosts>>

(* Told to stop, the output thread says goodbye once all is announced; then the main loop does. *)
WorkerClose(lane) ==
    /\ alive
    /\ main.at = "idle"
    /\ commands # <<>>
    /\ Head(commands).does = "stop"
    /\ said' = said \cup {lane}
    /\ \/ /\ lane = "output"
          /\ courier = "idle"
          /\ inflight = <<>>
          /\ courier' = "ended"
          /\ UNCHANGED <<main, commands>>
       \/ /\ lane = "main"
          /\ courier = "ended"
          /\ main' = [main EXCEPT !.at = "ended"]
          /\ commands' = Tail(commands)
          /\ UNCHANGED courier
    /\ UNCHANGED <<scheduler, stream, callers, table, inflight, asleep, alive, lanes, pump, shutdown, ghosts>>

(* The worker is killed: what it has published stays, and what else it had, or is sent from now on, is lost. *)
FaultKill ==
    /\ MayDie
    /\ alive
    /\ main.at # "ended"
    /\ alive' = FALSE
    /\ commands' = <<>>
    /\ main' = [at |-> "ended", rpc |-> 0, answer |-> None]
    /\ courier' = "ended"
    /\ inflight' = <<>>
    /\ said' = {}
    /\ UNCHANGED <<scheduler, stream, callers, table, asleep, lanes, pump, shutdown, ghosts>>

-------------------------------------------------------------------------------

(* The pump hands an answer to its caller; one that nobody awaits any more is discarded. *)
PumpReply(rpc) ==
    \E lane \in Lanes :
        /\ pump = Idle
        /\ lanes[lane] # <<>>
        /\ Head(lanes[lane]).says \in {"done", "failed"}
        /\ Head(lanes[lane]).rpc = rpc
        /\ lanes' = [lanes EXCEPT ![lane] = Tail(@)]
        /\ asked' = asked \ {rpc}
        /\ answer' = [caller \in Callers |->
                        IF rpc \in asked /\ call[caller] = rpc THEN Head(lanes[lane]).says ELSE answer[caller]]
        /\ at' = [caller \in Callers |->
                        IF rpc \in asked /\ call[caller] = rpc /\ at[caller] = "calling" THEN "Wake" ELSE at[caller]]
        /\ UNCHANGED <<scheduler, stream, call, errands, job, ids, outputs, refusing, worker, commands, said, pump,
                       shutdown, ghosts>>

(* The pump takes a batch and copies it out of shared memory; no lock is held. *)
PumpUnpack(output) ==
    \E lane \in Lanes :
        /\ pump = Idle
        /\ lanes[lane] # <<>>
        /\ Head(lanes[lane]).output = output
        /\ lanes' = [lanes EXCEPT ![lane] = Tail(@)]
        /\ pump' = [at |-> "unpacked", output |-> output]
        /\ UNCHANGED <<scheduler, stream, callers, table, worker, commands, said, shutdown, ghosts>>

(* Outputs have come: each resolves its future, or is cached; what was given up goes nowhere. *)
Arrive(arrived) ==
    /\ registered' = registered \ arrived
    /\ cached' = cached \cup ((arrived \cap open) \ registered)
    /\ open' = open \ (arrived \cap registered)
    /\ stream' = [number \in Numbers |->
                    IF computed[number] \in arrived \cap registered THEN "Deliver" ELSE stream[number]]
    /\ came' = came \cup (arrived \cap open)

(* The pump splits the batch, or keeps it whole for the dispatcher: one critical section. *)
PumpTakeSplit(batch) ==
    LET parts == OutputsOf(batch, holds[batch])
    IN  /\ pump = [at |-> "unpacked", output |-> batch]
        /\ Cardinality(holds[batch]) > 1
        /\ pump' = Idle
        /\ IF batch \in splits
           THEN Arrive(parts) /\ splits' = splits \ {batch} /\ UNCHANGED unsplit
           ELSE /\ unsplit' = IF parts \cap open = {} THEN unsplit ELSE unsplit \cup {batch}
                /\ UNCHANGED <<stream, open, registered, cached, splits, came>>
        /\ UNCHANGED <<scheduler, callers, ids, asked, refusing, worker, links, shutdown, lost, holds, ruined>>

(* The pump resolves the future of a single output, or caches it: one critical section. *)
PumpDeliver(output) ==
    /\ pump = [at |-> "unpacked", output |-> output]
    /\ Cardinality(holds[output]) = 1
    /\ pump' = Idle
    /\ Arrive({output})
    /\ UNCHANGED <<scheduler, callers, ids, asked, splits, unsplit, refusing, worker, links, shutdown, lost, holds, ruined>>

-------------------------------------------------------------------------------

(* A consumer takes its cached output, or registers a future; what was given up, or comes too late, is refused. *)
ConsumerWait(number, output) ==
    /\ stream[number] = "Wait"
    /\ computed[number] = output
    /\ IF output \in cached
       THEN /\ stream' = [stream EXCEPT ![number] = "Deliver"]
            /\ Drop({output})
       ELSE IF refusing # None \/ output \notin open
       THEN /\ stream' = [stream EXCEPT ![number] = "End"]
            /\ Drop({output} \cap open)
       ELSE /\ stream' = [stream EXCEPT ![number] = "asking"]
            /\ registered' = registered \cup {output}
            /\ UNCHANGED <<open, cached, splits, unsplit>>
    /\ UNCHANGED <<scheduler, callers, ids, asked, refusing, worker, links, pump, shutdown, ghosts>>

(* A consumer has its output: the request ends with it, unless it has ended. *)
StreamDeliver(number) ==
    /\ stream[number] = "Deliver"
    /\ stream' = [stream EXCEPT ![number] = "ended"]
    /\ outcome' = [outcome EXCEPT ![number] = IF @ = "open" THEN "result" ELSE @]
    /\ UNCHANGED <<submitted, waiting, computed, closed, aborting, callers, table, worker, links, pump, shutdown, ghosts>>

(* A consumer has an error, or gives up: the request ends with that, unless it has ended. *)
StreamEnd(number) ==
    LET why == CASE stream[number] = "asking" -> "timed out"
                 [] lost[number] # None -> lost[number]
                 [] stream[number] = "End" /\ refusing # None -> refusing
                 [] OTHER -> "aborted"
    IN  /\ \/ stream[number] = "End"
           \/ number \in Impatient /\ stream[number] \in {"computing", "Wait", "asking", "Deliver"}
        /\ stream' = [stream EXCEPT ![number] = "ended"]
        /\ End({number}, why, {})
        /\ UNCHANGED <<submitted, closed, aborting, callers, ids, asked, refusing, worker, links, pump, shutdown, ghosts>>

-------------------------------------------------------------------------------

(* The dispatcher is given time to end; from then on the table refuses what is new. *)
ExecutorRefuse ==
    /\ shutdown = "joining"
    /\ at[Dispatching] = "ended" \/ "shutdown" \in MayTimeOut
    /\ shutdown' = "Stop"
    /\ refusing' = IF refusing = None THEN "shut down" ELSE refusing
    /\ UNCHANGED <<scheduler, stream, callers, ids, asked, outputs, worker, links, pump, ghosts>>

(* The worker is told to stop. *)
ExecutorStop ==
    /\ shutdown = "Stop"
    /\ shutdown' = "stopping"
    /\ Sent([rpc |-> 0, does |-> "stop"])
    /\ UNCHANGED <<scheduler, stream, callers, table, worker, lanes, said, pump, ghosts>>

(* All that is pending fails: by the pump, once nothing more will come, and by the shutdown at its end. *)
ExecutorClose(by) ==
    LET why == IF Stopped /\ said = Threads THEN "shut down" ELSE "error"
        early == UNION {OutputsOf(whole, holds[whole]) : whole \in unsplit} \cap open
    IN  /\ \/ /\ by = "pump"
              /\ pump = Idle
              /\ \A lane \in Lanes : lanes[lane] = <<>>
              /\ said = Threads \/ ~alive
              /\ pump' = [Idle EXCEPT !.at = IF why = "error" THEN "Tell" ELSE "ended"]
              /\ UNCHANGED shutdown
           \/ /\ by = "shutdown"
              /\ shutdown = "stopping"
              /\ pump.at = "ended"
              /\ shutdown' = "ended"
              /\ UNCHANGED pump
        /\ refusing' = IF refusing = None THEN why ELSE refusing
        /\ asked' = {}
        /\ answer' = [caller \in Callers |-> IF call[caller] \in asked THEN why ELSE answer[caller]]
        /\ at' = [caller \in Callers |->
                    IF call[caller] \in asked /\ at[caller] = "calling" THEN "Wake" ELSE at[caller]]
        /\ splits' = {}
        /\ unsplit' = {}
        /\ registered' = {}
        /\ cached' = cached \cup (early \ registered)
        /\ open' = cached'
        /\ came' = came \cup early
        /\ stream' = [number \in Numbers |->
                        IF computed[number] \notin registered THEN stream[number]
                        ELSE IF computed[number] \in early THEN "Deliver" ELSE "End"]
        /\ lost' = [number \in Numbers |->
                        IF computed[number] \in registered \ early THEN why ELSE lost[number]]
        /\ UNCHANGED <<scheduler, call, errands, job, ids, worker, links, holds, ruined>>

-------------------------------------------------------------------------------

System ==
    \/ \E request \in Requests : EngineAdmit(request)
    \/ \E by \in Closers : EngineClose(by)
    \/ \E by \in Enders : ExecutorClose(by)
    \/ \E by \in Callers, rpc \in Rpcs :
        \/ DispatcherCall(by, rpc) \/ DispatcherSend(by, rpc) \/ DispatcherWake(by, rpc)
        \/ DispatcherAbandon(by, rpc) \/ DispatcherForget(by, rpc)
    \/ DispatcherTake \/ DispatcherMint \/ DispatcherSettle \/ DispatcherLeave
    \/ \E batch \in Batches :
        \/ DispatcherExpect(batch) \/ ConsumerDrop(batch)
        \/ WorkerHandOver(batch) \/ WorkerAnnounce(batch) \/ WorkerSettle(batch)
        \/ PumpUnpack(batch) \/ PumpTakeSplit(batch) \/ PumpDeliver(batch)
    \/ \E rpc \in Rpcs : WorkerReply(rpc) \/ PumpReply(rpc)
    \/ WorkerDrain
    \/ \E thread \in Threads : WorkerClose(thread)
    \/ \E number \in Numbers :
        \/ \E output \in Outputs : ConsumerWait(number, output)
        \/ StreamDeliver(number) \/ StreamEnd(number)
    \/ ExecutorRefuse \/ ExecutorStop
Env == \E request \in Requests : EngineAbort(request)
Fault == FaultKill

(* Everybody has come to an end. *)
Terminating ==
    /\ submitted = Cardinality(Numbers)
    /\ \A number \in Numbers : stream[number] \in {"absent", "ended"}
    /\ \A caller \in Callers : at[caller] = "ended"
    /\ shutdown = "ended"
    /\ UNCHANGED vars

Next == System \/ Env \/ Fault \/ Terminating

Spec == Init /\ [][Next]_vars

Calls(by) ==
    \E rpc \in Rpcs :
        \/ DispatcherCall(by, rpc) \/ DispatcherSend(by, rpc)
        \/ at[by] = "Wake" /\ DispatcherWake(by, rpc)
        \/ DispatcherAbandon(by, rpc) \/ DispatcherForget(by, rpc)
Dispatches ==
    \/ DispatcherTake \/ DispatcherMint \/ DispatcherSettle \/ DispatcherLeave \/ EngineClose(Dispatching)
    \/ \E batch \in Batches : DispatcherExpect(batch) \/ ConsumerDrop(batch)
Computes ==
    \/ \E output \in Batches : WorkerHandOver(output)
    \/ \E rpc \in Rpcs : WorkerReply(rpc)
    \/ inflight = <<>> /\ WorkerDrain
    \/ WorkerClose("main")
Announces == WorkerClose("output") \/ \E output \in Batches : WorkerAnnounce(output) \/ WorkerSettle(output)
Pumps ==
    \/ \E rpc \in Rpcs : PumpReply(rpc)
    \/ \E batch \in Batches : PumpUnpack(batch) \/ PumpTakeSplit(batch) \/ PumpDeliver(batch)
    \/ ExecutorClose("pump") \/ EngineClose("pump")
Consumes(number) ==
    \/ \E output \in Outputs : ConsumerWait(number, output)
    \/ StreamDeliver(number)
    \/ stream[number] = "End" /\ StreamEnd(number)
ShutsDown ==
    \/ EngineClose("shutdown") \/ (at[Dispatching] = "ended" /\ ExecutorRefuse) \/ ExecutorStop \/ ExecutorClose("shutdown")

(* Each task goes on as long as it can; nobody has to lose patience, nor anything to go wrong. *)
FairSpec ==
    /\ Spec
    /\ WF_vars(\E request \in Requests : EngineAdmit(request))
    /\ WF_vars(Dispatches) /\ WF_vars(Computes) /\ WF_vars(Announces) /\ WF_vars(Pumps) /\ WF_vars(ShutsDown)
    /\ \A by \in Callers : WF_vars(Calls(by))
    /\ \A number \in Numbers : WF_vars(Consumes(number))

-------------------------------------------------------------------------------

(* No consumer waits for an output that lies in the table already, whole or split. *)
NoStrandedOutputInv ==
    \A number \in Numbers : stream[number] = "asking" =>
        /\ computed[number] \notin cached
        /\ \A batch \in unsplit : computed[number] \notin OutputsOf(batch, holds[batch])

(* Whoever waits for an output has a future in the table, and nobody else has. *)
FuturesAreWaitersInv == registered = {computed[number] : number \in {n \in Numbers : stream[n] = "asking"}}

(* An output that is kept for its consumer has one: the request is open, or its batch is not settled yet. *)
KeptForSomebodyInv ==
    \A number \in Numbers : computed[number] \in cached \cup registered => outcome[number] = "open"

(* The output of an open request is not given up: it is still to come, or here. *)
OpenKeepsItsOutputInv ==
    \A number \in Numbers :
        outcome[number] = "open" /\ stream[number] \in {"Wait", "asking"} /\ refusing = None => computed[number] \in open

(* Once nothing is on its way and everybody has ended, the table is empty. *)
NothingLeftInv ==
    (/\ \A number \in Numbers : stream[number] \in {"absent", "ended"}
     /\ at[Dispatching] \in {"idle", "ended"}
     /\ inflight = <<>> /\ \A lane \in Lanes : lanes[lane] = <<>>
     /\ pump.at \in {"idle", "ended"})
    => open \cup registered \cup cached \cup splits \cup unsplit = {}

(* A consumer that has ended knows the outcome of its request, and it is a result only if it has the output. *)
EndedHasOutcomeInv ==
    \A number \in Numbers :
        /\ stream[number] = "ended" => outcome[number] \in Ends
        /\ outcome[number] = "result" => computed[number] \in came

(* Behind the shutdown nothing is pending: no call, no future, and nobody waits for what nobody will do. *)
NothingPendingAfterShutdownInv ==
    shutdown = "ended" =>
        /\ asked \cup registered = {}
        /\ \A number \in Numbers : stream[number] \notin {"computing", "asking"}
        /\ \A caller \in Callers : at[caller] # "calling"

(* An output that had come before the end of the engine is not lost to it. *)
ComeIsNotLostInv ==
    \A number \in Numbers :
        computed[number] \in came => outcome[number] \notin {"shut down", "error"}

(* No output is copied from memory that was given back. *)
IntactInv == ruined = {}

(* A call that is awaited is known to the table, or decided. *)
AwaitedIsAskedInv ==
    \A caller \in Callers : at[caller] = "calling" => call[caller] \in asked /\ answer[caller] = None

(* Every request that is admitted comes to its one outcome. *)
EveryRequestEndsProp == \A number \in Numbers : outcome[number] = "open" ~> outcome[number] \in Ends
===============================================================================
