--------------------------------- MODULE Door ---------------------------------
(* People who take keys and open a door: one small spec for each way to write   *)
(* an action, a claim and a comment.                                           *)
EXTENDS Naturals

CONSTANTS People, Keys

VARIABLES open, holds

vars == <<open, holds>>

TypeOK ==
    (* The door is open or shut. *)
    /\ open \in BOOLEAN
    (* Nobody holds what is no key. *)
    /\ holds \in [People -> SUBSET Keys]

Init == open = FALSE /\ holds = [person \in People |-> {}]

Free == Keys \ UNION {holds[person] : person \in People}

(* A person without a key takes one that is free. *)
PersonTake(person) ==
    LET key == CHOOSE key \in Free : TRUE
    IN  /\ holds[person] = {}
        /\ Free # {}
        /\ ~open
        /\ holds' = [holds EXCEPT ![person] = {key}]
        /\ UNCHANGED open

\* Who holds a key opens the door.
PersonOpen(person) ==
    ~open /\ holds[person] # {} /\ open' = TRUE /\ UNCHANGED holds

(* A person gives some key back. *)
PersonGive(person) ==
    /\ ~open
    /\ \E key \in holds[person] :
        /\ holds' = [holds EXCEPT ![person] = @ \ {key}]
        /\ UNCHANGED open

Next == \E person \in People : PersonTake(person) \/ PersonOpen(person) \/ PersonGive(person)

Spec == Init /\ [][Next]_vars /\ WF_vars(Next)

(* This sentence is about something else.  An open door has somebody with a key. *)
OpenedByKeyInv == open => \E person \in People : holds[person] # {}

(* No key is held by two people. *)
KeysApartInv == \A one \in People : \A other \in People \ {one} : holds[one] \cap holds[other] = {}

ShutInv == ~open

(* The door is opened
   in the end. *)
OpensProp == <>open
===============================================================================
