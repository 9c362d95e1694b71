"""Which rule each broken connector breaks: the test of the kit that must find it."""

from tests.connectors.broken import endless, sinks, sources, transforms

SOURCES: dict[type, str] = {
    sources.CutsAtAnyByte: "gives_every_row_once",
    sources.ReportsToNobody: "gives_every_row_once",
    sources.CountsFromOne: "splits_are_numbered_from_zero_without_gaps_and_say_what_they_weigh",
    sources.StampsItsSplits: "a_second_enumeration_is_equal",
    sources.ReadsWithoutAnOrder: "a_split_gives_the_same_rows_again",
    sources.GoesOnWhereItWas: "a_split_that_was_left_in_the_middle_gives_all_its_rows_again",
    sources.SharesItsReader: "splits_can_be_read_at_the_same_time",
    sources.CarriesItsRows: "a_body_is_small",
    sources.NumbersItsRows: "the_order_in_which_splits_are_read_does_not_matter",
    sources.SkipsToKeepUp: "a_speed_limit_changes_no_row",
    sources.AnnouncesOtherColumns: "planned_schemas_are_those_of_the_enumeration",
    sources.SaysNothing: "every_option_is_documented",
}
ENDLESS: dict[type, str] = {
    endless.EndsWhenItFindsNothing: "it_never_ends_and_its_schemas_are_known_before_anything_is_found",
    endless.ForgetsWhatItHadFound: "finds_every_row_once",
    endless.ReportsToNobody: "finds_every_row_once",
    endless.RemembersInTheObject: "what_a_crash_forgets_is_found_again",
    endless.CountsItsReadings: "a_split_gives_the_same_rows_again",
    endless.ExpectsOneFact: "facts_may_arrive_late",
    endless.AbsorbsInPlace: "facts_are_absorbed_in_the_same_way_again",
}
SINKS: dict[type, str] = {
    sinks.WritesAtOnce: "nothing_is_visible_before_the_commit_and_all_after",
    sinks.Copies: "a_repeated_commit_publishes_nothing_twice",
    sinks.BelievesItIsDone: "a_commit_that_was_interrupted_goes_on",
    sinks.TakesAbsenceForSuccess: "what_is_gone_for_no_known_reason_is_an_error",
    sinks.ForgetsTheAttempt: "attempts_of_a_unit_do_not_meet",
    sinks.SweepsWhatIsFinished: "a_killed_writer_leaves_only_what_a_sweep_removes",
    sinks.SweepsAllThatIsOld: "a_sweep_keeps_what_a_checkpoint_names",
    sinks.ForgetsWhatIsCommitted: "what_is_committed_and_kept_is_not_published_again",
    sinks.SweepsTooEarly: "a_sweep_leaves_its_own_epoch_alone_until_the_end",
    sinks.SweepsAllButItsOwn: "a_sweep_leaves_alone_what_newer_engines_staged",
    sinks.ShowsWhatIsStaged: "what_the_target_shows_as_published_is_what_was_committed",
    sinks.SweepsForOthersToo: "a_sweep_leaves_other_jobs_and_pipelines_alone",
    sinks.ClearsNothing: "clearing_removes_what_was_staged_after_the_last_sweep",
    sinks.SaysThatItTookBack: "what_came_after_a_base_is_taken_back_and_nothing_else",
    sinks.ProvesSomethingElse: "a_task_and_the_driver_see_the_same_target",
    sinks.PublishesTheLatest: "commits_keep_the_order_and_every_row",
    sinks.HasOneBuffer: "units_are_finished_in_threads_while_the_next_are_written",
    sinks.LeavesAbortsToTheSweep: "an_abort_leaves_nothing",
    sinks.SaysNothingOfItsTarget: "committables_are_bound_to_what_says_where_they_go",
    sinks.LooksOnlyWhereItIsTold: "a_sink_whose_options_change_loses_nothing_silently",
    sinks.PublishesWhereItIsTold: "a_sink_whose_options_change_loses_nothing_silently",
    sinks.CreatesWhatIsMissing: "a_target_that_was_lost_is_refused_and_not_created_again",
    sinks.CreatesTheTableAgain: "a_table_that_was_dropped_is_refused_and_not_created_again",
    sinks.SweepsForItsPipeline: "two_sinks_of_a_pipeline_that_share_a_target_keep_apart",
    sinks.EmptiesForEachPipeline: "a_save_mode_acts_once_for_the_pipelines_of_a_job",
    sinks.EmptiesWithoutAFence: "an_engine_that_was_replaced_empties_nothing",
    sinks.RemovesThenWrites: "killed_between_any_two_lines_it_has_every_row_once",
}
TRANSFORMS: dict[type, str] = {
    transforms.AddsToWhatIsThere: "gives_the_expected_rows",
    transforms.AddsUpTheBatch: "a_cut_between_any_two_rows_changes_nothing",
    transforms.Remembers: "the_same_object_gives_the_same_rows_again",
    transforms.AnnouncesAnotherType: "the_planned_columns_are_those_that_come",
    transforms.SaysNothing: "every_option_is_documented",
}
