----------------------------- MODULE TimeoutOrder -----------------------------
(* Two waits that must not be confused: that of a consumer for its output, and *)
(* that of a worker, before it gives device memory back, for what is in        *)
(* flight.  A consumer gives up when the setting says so that was in force     *)
(* when it asked, and no sooner; and a drain is refused before anybody who     *)
(* asked behind its beginning gives up.                                        *)
(*                                                                             *)
(*   now ........ drain refused ........ output here ........ consumer gives up *)
(*                                                                             *)
(* Time passes only while nobody has anything to do: then it leaps to the next *)
(* moment at which a copy ends, a drain is refused, or a consumer gives up.    *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
    Outputs,        \* ids of the outputs
    Order,          \* in which they are computed, all at once; the device comes to one behind the other
    Takes,          \* output -> seconds that the device takes for its copy
    Drain,          \* seconds that a drain waits
    Limit,          \* seconds that a consumer waits, unless something else is set
    Settings        \* seconds that operators set, each once

ASSUME DrainIsShorter == Drain < Limit
ASSUME OrderIsOfOutputs == {Order[i] : i \in DOMAIN Order} = Outputs /\ Len(Order) = Cardinality(Outputs)

VARIABLES
    setting,        \* what is set; 0 for nothing
    unset,          \* what operators will set
    main,           \* what the main loop does
    computed,       \* how many outputs it has computed
    in_flight,      \* outputs that are counted
    hand,           \* what the output thread does, and with which output
    waiter,         \* output -> what its consumer is doing, or how it ended
    now,            (* ghost *) \* when the last step was taken
    began,          (* ghost *) \* when the drain began
    copied_at,      (* ghost *) \* when the copy in hand will be there
    asked,          (* ghost *) \* output -> when its consumer asked
    until,          (* ghost *) \* output -> when its consumer gives up
    allowed         (* ghost *) \* output -> when it may, by the setting that was in force

clocks == <<began, copied_at, asked, until, allowed>>
vars == <<setting, unset, main, computed, in_flight, hand, waiter, now, clocks>>

None == "none"
Idle == [at |-> "idle", output |-> None]
Times == 0 .. 1000

TypeOK ==
    (* The last one that was set. *)
    /\ setting \in Settings \cup {0}
    (* It only shrinks. *)
    /\ unset \subseteq Settings
    (* "drain": it waits, and sleeps at the end; who is refused tries again. *)
    /\ main \in {"compute", "drain", "free", "done"}
    (* All before the first drain. *)
    /\ computed \in 0 .. Len(Order)
    (* Each is counted once. *)
    /\ in_flight \subseteq Outputs
    (* "copy": the device has not come to it. *)
    /\ hand \in [at : {"copy", "announce", "settle"}, output : Outputs] \cup {Idle}
    (* "late": its output came when its time was up. *)
    /\ waiter \in [Outputs -> {"absent", "waiting", "late", "served", "gave up"}]
    (* Seconds. *)
    /\ {now, began, copied_at} \subseteq Times
    (* Seconds, each. *)
    /\ {asked, until, allowed} \subseteq [Outputs -> Times]

Init ==
    /\ setting = 0
    /\ unset = Settings
    /\ main = "compute"
    /\ computed = 0
    /\ in_flight = {}
    /\ hand = Idle
    /\ waiter = [output \in Outputs |-> "absent"]
    /\ now = 0
    /\ began = 0
    /\ copied_at = 0
    /\ asked = [output \in Outputs |-> 0]
    /\ until = [output \in Outputs |-> 0]
    /\ allowed = [output \in Outputs |-> 0]

-------------------------------------------------------------------------------

(* What is in force: a setting that is not above the drain's is ignored. *)
InForce(seconds) == IF seconds > Drain THEN seconds ELSE Limit

(* What the code takes for it. *)
Taken(seconds) == InForce(seconds)

(* How long a drain waits in the code. *)
Patience == Drain

Minimum(times) == CHOOSE time \in times : \A other \in times : time <= other

(* Somebody has something to do at once. *)
Busy ==
    \/ unset # {}
    \/ main \in {"compute", "free"}
    \/ main = "drain" /\ in_flight = {}
    \/ hand.at \in {"announce", "settle"}
    \/ \E output \in Outputs : waiter[output] \in {"absent", "late"}

(* When somebody will have something to do by the clock. *)
Dues ==
    (IF main = "drain" THEN {began + Patience} ELSE {})
    \cup (IF hand.at = "copy" THEN {copied_at} ELSE {})
    \cup {until[output] : output \in {each \in Outputs : waiter[each] = "waiting"}}

(* When the next step is taken. *)
Now == IF Busy \/ Dues = {} \/ \E due \in Dues : due <= now THEN now ELSE Minimum(Dues)

(* The outputs in the order of their computation, behind one. *)
Place(output) == CHOOSE i \in DOMAIN Order : Order[i] = output
Copying(output) == [at |-> "copy", output |-> output]

(* An operator sets how long outputs are awaited. *)
OperatorSet(seconds) ==
    /\ seconds \in unset
    /\ unset' = unset \ {seconds}
    /\ setting' = seconds
    /\ now' = Now
    /\ UNCHANGED <<main, computed, in_flight, hand, waiter, clocks>>

(* The main loop computes the next output; behind the last one it is told to sleep, and drains. *)
WorkerHandOver(output) ==
    /\ main = "compute"
    /\ output = Order[computed + 1]
    /\ computed' = computed + 1
    /\ in_flight' = in_flight \cup {output}
    /\ main' = IF computed' = Len(Order) THEN "drain" ELSE "compute"
    /\ began' = Now
    /\ IF hand = Idle
       THEN hand' = Copying(output) /\ copied_at' = Now + Takes[output]
       ELSE UNCHANGED <<hand, copied_at>>
    /\ now' = Now
    /\ UNCHANGED <<setting, unset, waiter, asked, until, allowed>>

(* The drain ends, because nothing is in flight, or because its time is up: then it is refused, and tried again. *)
WorkerDrain ==
    /\ main = "drain"
    /\ in_flight = {} \/ began + Patience <= Now
    /\ main' = IF in_flight = {} THEN "free" ELSE "drain"
    /\ began' = Now
    /\ now' = Now
    /\ UNCHANGED <<setting, unset, computed, in_flight, hand, waiter, copied_at, asked, until, allowed>>

(* The pipeline gives its memory back. *)
PipelineFree ==
    /\ main = "free"
    /\ main' = "done"
    /\ now' = Now
    /\ UNCHANGED <<setting, unset, computed, in_flight, hand, waiter, clocks>>

(* The device has come to the copy. *)
DeviceCopy ==
    /\ hand.at = "copy"
    /\ copied_at <= Now
    /\ hand' = [hand EXCEPT !.at = "announce"]
    /\ now' = Now
    /\ UNCHANGED <<setting, unset, main, computed, in_flight, waiter, clocks>>

(* The output is announced, and reaches its consumer, if that has not given up; it may be about to. *)
WorkerAnnounce(output) ==
    /\ hand = [at |-> "announce", output |-> output]
    /\ hand' = [hand EXCEPT !.at = "settle"]
    /\ waiter' = [waiter EXCEPT ![output] =
                    IF @ # "waiting" THEN @ ELSE IF until[output] <= Now THEN "late" ELSE "served"]
    /\ now' = Now
    /\ UNCHANGED <<setting, unset, main, computed, in_flight, clocks>>

(* It is counted off; the device begins with the next one. *)
WorkerSettle(output) ==
    /\ hand = [at |-> "settle", output |-> output]
    /\ in_flight' = in_flight \ {output}
    /\ IF Place(output) < computed
       THEN LET next == Order[Place(output) + 1]
            IN hand' = Copying(next) /\ copied_at' = Now + Takes[next]
       ELSE hand' = Idle /\ UNCHANGED copied_at
    /\ now' = Now
    /\ UNCHANGED <<setting, unset, main, computed, waiter, began, asked, until, allowed>>

(* The consumer asks for its output; how long it waits, is decided here. *)
ConsumerWait(output) ==
    /\ waiter[output] = "absent"
    /\ waiter' = [waiter EXCEPT ![output] = "waiting"]
    /\ asked' = [asked EXCEPT ![output] = Now]
    /\ until' = [until EXCEPT ![output] = Now + Taken(setting)]
    /\ allowed' = [allowed EXCEPT ![output] = Now + InForce(setting)]
    /\ now' = Now
    /\ UNCHANGED <<setting, unset, main, computed, in_flight, hand, began, copied_at>>

(* Its time is up: it gives up, unless its output came at the last moment. *)
ConsumerDrop(output) ==
    /\ waiter[output] = "late" \/ (waiter[output] = "waiting" /\ until[output] <= Now)
    /\ waiter' = [waiter EXCEPT ![output] = IF @ = "late" THEN "served" ELSE "gave up"]
    /\ now' = Now
    /\ UNCHANGED <<setting, unset, main, computed, in_flight, hand, clocks>>

-------------------------------------------------------------------------------

System ==
    \/ WorkerDrain \/ PipelineFree \/ DeviceCopy
    \/ \E output \in Outputs :
        WorkerHandOver(output) \/ WorkerAnnounce(output) \/ WorkerSettle(output) \/ ConsumerDrop(output)
Env ==
    \/ \E seconds \in Settings : OperatorSet(seconds)
    \/ \E output \in Outputs : ConsumerWait(output)

(* The worker sleeps, and everybody has ended.  Any other state without a next step is a deadlock. *)
Terminating ==
    /\ main = "done"
    /\ unset = {}
    /\ \A output \in Outputs : waiter[output] \in {"served", "gave up"}
    /\ UNCHANGED vars

Next == System \/ Env \/ Terminating

Spec == Init /\ [][Next]_vars

(* Who has something to do does it sooner or later, and so time passes. *)
FairSpec ==
    /\ Spec
    /\ WF_vars(WorkerDrain)
    /\ WF_vars(PipelineFree)
    /\ WF_vars(DeviceCopy)
    /\ \A seconds \in Settings : WF_vars(OperatorSet(seconds))
    /\ \A output \in Outputs :
        /\ WF_vars(WorkerHandOver(output))
        /\ WF_vars(WorkerAnnounce(output))
        /\ WF_vars(WorkerSettle(output))
        /\ WF_vars(ConsumerWait(output))
        /\ WF_vars(ConsumerDrop(output))

-------------------------------------------------------------------------------

(* Nobody gives up before the setting says so that was in force when it asked. *)
NobodyGivesUpEarlyInv == \A output \in Outputs : waiter[output] = "gave up" => allowed[output] <= now

(* Nobody who asked behind the beginning of a drain gives up while it goes on. *)
NoInversionInv ==
    \A output \in Outputs : waiter[output] = "gave up" /\ main = "drain" => asked[output] < began

(* No drain goes on for longer than it may. *)
DrainEndsInTimeInv == main = "drain" => now <= began + Drain

(* Whoever asks is served or gives up in the end, and the worker sleeps. *)
EverybodyEndsProp ==
    /\ \A output \in Outputs : <>(waiter[output] \in {"served", "gave up"})
    /\ <>(main = "done")

(* An output that the device comes to within the limit is delivered. *)
HealthyRenderServedProp == Takes[Order[1]] < Limit => <>(waiter[Order[1]] = "served")
===============================================================================
