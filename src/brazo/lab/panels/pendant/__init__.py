"""The pendant panel."""
