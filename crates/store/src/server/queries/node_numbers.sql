-- The numbers that live nodes have. Called by join.
-- Scans node: a row per start, a handful alive.
SELECT number, incarnation FROM node WHERE state <> 'GONE'
