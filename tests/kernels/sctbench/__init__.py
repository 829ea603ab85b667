"""After SCTBench: the programs that compare ways to search schedules (Thomson, Donaldson, Betts: PPoPP 2014)."""
