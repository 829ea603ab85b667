---------------------------- MODULE TraceAdmission ----------------------------
(* Recordings of real processes as behaviours of Admission: requests that are  *)
(* admitted or refused at the call, and found by whoever aborts them.          *)
EXTENDS MCAdmission, TraceRequestPath
===============================================================================
