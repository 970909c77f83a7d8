// Runs are complete in their order: one with results behind their last bytes, one whose sums stay behind the last sums.
module run_completion #(
    parameter PLACES = 8
) (
    input  logic       clk,
    input  logic       reset,
    input  logic       ends,     // the array has done with a run
    input  logic       stays,    // whose sums stay in the result buffer
    input  logic       written,  // the last bytes of a run's results leave
    input  logic       added,    // the last sums of a run whose sums stay are added
    output logic [1:0] done      // runs that are complete from this cycle on
);
  logic [PLACES-1:0] kinds;      // of the oldest runs, the oldest one in the lowest place
  logic [7:0] runs, wrote, summed;
  logic [PLACES-1:0] kinds_left;
  logic [7:0] runs_left, wrote_left, summed_left;
  logic [1:0] complete;

  always_comb begin
    kinds_left = kinds;
    runs_left = runs;
    wrote_left = wrote + {7'd0, written};
    summed_left = summed + {7'd0, added};
    complete = 2'd0;
    for (int i = 0; i < 2; i = i + 1)
      if (runs_left != 8'd0 && (kinds_left[0] ? summed_left != 8'd0 : wrote_left != 8'd0)) begin
        if (kinds_left[0]) summed_left = summed_left - 8'd1;
        else wrote_left = wrote_left - 8'd1;
        kinds_left = kinds_left >> 1;
        runs_left = runs_left - 8'd1;
        complete = complete + 2'd1;
      end
  end

  always_ff @(posedge clk) begin
    kinds <= kinds_left;
    kinds[runs_left] <= stays;  // of the run that ends next
    runs <= runs_left + {7'd0, ends};
    wrote <= wrote_left;
    summed <= summed_left;
    done <= complete;
    if (reset) begin
      runs <= 8'd0;
      wrote <= 8'd0;
      summed <= 8'd0;
      done <= 2'd0;
    end
  end
endmodule
