---------------------------- MODULE MCAsyncOutput ----------------------------
(* Bounds, refinement, historical twins of actions, mutants, and probes. *)
EXTENDS AsyncOutput, TLC

Twice == 1 :> "r" @@ 2 :> "r"
Distinct == 1 :> "r" @@ 2 :> "s"
ThriceReused == 1 :> "r" @@ 2 :> "s" @@ 3 :> "r"
Ids == <<"1", "2", "3">>
PartsOfTwo == "1" :> <<"1/1", "1/2">> @@ "2" :> <<"2/1", "2/2">> @@ "3" :> <<"3/1", "3/2">>
TwoLanes == "main" :> "replies" @@ "output" :> "outputs"
OneLane == "main" :> "results" @@ "output" :> "results"
SleepAndWake == <<"sleep", "wake">>
SleepOnly == <<"sleep">>
NoErrands == <<>>

Abs == INSTANCE ExactlyOnce
RefinesProp == Abs!FairSpec


(* Defect late_split_map: the dispatcher registers the map and looks no further. *)
DispatcherExpect_Bug(batch) ==
    /\ at[Dispatching] = "Expect"
    /\ batch = job.id
    /\ splits' = splits \cup {batch}
    /\ Goes(Dispatching, "Settle")
    /\ UNCHANGED <<scheduler, stream, call, answer, errands, job, ids, asked, open, registered, cached, unsplit, refusing,
                   worker, links, pump, shutdown, ghosts>>

(* Defect aborted_output_leak: what comes of a request that was aborted while it was computed is kept. *)
DispatcherSettle_Bug ==
    LET told == {number \in job.numbers : outcome[number] = "open"}
    IN  /\ at[Dispatching] = "Settle"
        /\ job.failed = None
        /\ Goes(Dispatching, "Take")
        /\ job' = NoJob
        /\ computed' = [number \in Numbers |->
                IF number \in told THEN OutputOf(job.id, job.numbers, number) ELSE computed[number]]
        /\ stream' = [number \in Numbers |->
                IF number \in told /\ stream[number] = "computing" THEN "Wait" ELSE stream[number]]
        /\ UNCHANGED <<submitted, waiting, outcome, closed, aborting, call, answer, errands, table, worker, links, pump,
                       shutdown, ghosts>>

EndWithoutDrop(numbers, why) ==
    /\ outcome' = [number \in Numbers |->
                    IF number \in numbers /\ outcome[number] = "open" THEN why ELSE outcome[number]]
    /\ UNCHANGED <<waiting, computed, open, registered, cached, splits, unsplit>>

(* Defect abandoned_stream: a consumer goes away, and its output stays. *)
StreamEnd_Bug(number) ==
    /\ \/ stream[number] = "End"
       \/ number \in Impatient /\ stream[number] \in {"asking", "Deliver"}
    /\ stream' = [stream EXCEPT ![number] = "ended"]
    /\ EndWithoutDrop({number}, "aborted")
    /\ UNCHANGED <<submitted, closed, aborting, callers, ids, asked, refusing, worker, links, pump, shutdown, ghosts>>

(* Defect reused_request_id: a consumer goes away, and with its output go all under its name. *)
StreamEndByName_Bug(number) ==
    LET same == {n \in Numbers : Submitted[n] = Submitted[number]}
    IN  /\ \/ stream[number] = "End"
           \/ number \in Impatient /\ stream[number] \in {"computing", "asking", "Deliver"}
        /\ stream' = [n \in Numbers |->
                        IF n = number THEN "ended"
                        ELSE IF n \in same /\ stream[n] = "asking" THEN "End" ELSE stream[n]]
        /\ End({number}, "aborted", {computed[n] : n \in same} \cap Outputs)
        /\ UNCHANGED <<submitted, closed, aborting, callers, ids, asked, refusing, worker, links, pump, shutdown, ghosts>>

(* Defect sleep_without_drain: the memory goes at once. *)
WorkerDrain_Bug ==
    /\ alive
    /\ main.at = "idle"
    /\ commands # <<>>
    /\ Head(commands).does = IF asleep THEN "wake" ELSE "sleep"
    /\ commands' = Tail(commands)
    /\ main' = [at |-> "Reply", rpc |-> Head(commands).rpc, answer |-> "done"]
    /\ asleep' = (Head(commands).does = "sleep")
    /\ UNCHANGED <<scheduler, stream, callers, table, courier, inflight, alive, lanes, said, pump, shutdown, ghosts>>

(* Defect wait_after_shutdown: a wait that comes too late gets a future that nobody resolves. *)
ConsumerWait_Bug(number, output) ==
    /\ stream[number] = "Wait"
    /\ computed[number] = output
    /\ IF output \in cached
       THEN stream' = [stream EXCEPT ![number] = "Deliver"] /\ Drop({output})
       ELSE /\ stream' = [stream EXCEPT ![number] = "asking"]
            /\ registered' = registered \cup {output}
            /\ UNCHANGED <<open, cached, splits, unsplit>>
    /\ UNCHANGED <<scheduler, callers, ids, asked, refusing, worker, links, pump, shutdown, ghosts>>

(* Defect shutdown_discards_delivered: all that is open is ended, whether it has come or not. *)
EngineClose_Bug(by) ==
    LET why == IF by = "pump" THEN "error" ELSE "shut down"
    IN  /\ \/ by = "shutdown" /\ shutdown = "Close"
           \/ by = Dispatching /\ at[Dispatching] = "Close"
           \/ by = "pump" /\ pump.at = "Tell"
        /\ closed' = IF closed = None THEN why ELSE closed
        /\ stream' = Left(Numbers)
        /\ End(Numbers, why, {})
        /\ at' = IF by = Dispatching THEN [at EXCEPT ![Dispatching] = "Leave"] ELSE Awake
        /\ shutdown' = IF by = "shutdown" THEN "joining" ELSE shutdown
        /\ pump' = IF by = "pump" THEN [pump EXCEPT !.at = "ended"] ELSE pump
        /\ UNCHANGED <<submitted, aborting, call, answer, errands, job, ids, asked, refusing, worker, links, ghosts>>

(* Mutant second_outcome: a consumer that has its output calls that the outcome, whatever came before. *)
StreamDeliver_Bug(number) ==
    /\ stream[number] = "Deliver"
    /\ stream' = [stream EXCEPT ![number] = "ended"]
    /\ outcome' = [outcome EXCEPT ![number] = "result"]
    /\ UNCHANGED <<submitted, waiting, computed, closed, aborting, callers, table, worker, links, pump, shutdown, ghosts>>

(* Mutant forgotten_waiter: an abort takes the future of a consumer out of the table, and does not tell it. *)
EngineAbort_Bug(request) ==
    LET numbers == {number \in Numbers : Submitted[number] = request}
    IN  /\ request \in aborting
        /\ aborting' = aborting \ {request}
        /\ End(numbers, "aborted", {})
        /\ UNCHANGED <<submitted, closed, stream, callers, ids, asked, refusing, worker, links, pump, shutdown, ghosts>>

(* Mutant forgotten_call: the end of the pump forgets the calls that wait for an answer. *)
ExecutorClose_Bug(by) ==
    /\ by = "pump"
    /\ pump = Idle
    /\ \A lane \in Lanes : lanes[lane] = <<>>
    /\ ~alive
    /\ pump' = [Idle EXCEPT !.at = "Tell"]
    /\ refusing' = "error"
    /\ asked' = {}
    /\ UNCHANGED <<scheduler, stream, callers, ids, outputs, worker, links, shutdown, ghosts>>

(* Mutant untold_end: a consumer goes away, and the scheduler does not hear of it. *)
StreamEndUntold_Bug(number) ==
    /\ stream[number] \in {"Deliver", "End"}
    /\ stream' = [stream EXCEPT ![number] = "ended"]
    /\ UNCHANGED <<scheduler, callers, table, worker, links, pump, shutdown, ghosts>>

(* Probes: each must fail, for the state that it denies is an interesting one. *)
(* No batch arrives before its split map. *)
NeverEarlyInv == unsplit = {}
(* No output has come, and waits for its consumer, when the engine is shut down. *)
NeverSalvagedInv == ~(shutdown = "ended" /\ cached # {})
(* No request is aborted while its output is copied. *)
NeverAbortedInFlightInv == \A number \in Numbers : outcome[number] = "aborted" => inflight = <<>>

===============================================================================
