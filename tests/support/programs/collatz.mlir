module @collatz {
  func.func public @main(%n: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %row = stablehlo.constant dense<[3, 1, 4, 1]> : tensor<4xi32>
    %last:3 = stablehlo.while(%m = %n, %steps = %zero, %sums = %row) : tensor<i32>, tensor<i32>, tensor<4xi32>
    cond {
      %goes_on = stablehlo.compare GT, %m, %one, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %goes_on : tensor<i1>
    } do {
      %next = func.call @step(%m) : (tensor<i32>) -> tensor<i32>
      %count = stablehlo.add %steps, %one : tensor<i32>
      %ones = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<i32>) -> tensor<4xi32>
      %more = stablehlo.add %sums, %ones : tensor<4xi32>
      stablehlo.return %next, %count, %more : tensor<i32>, tensor<i32>, tensor<4xi32>
    }
    %total = stablehlo.reduce(%last#2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
    return %last#1, %total : tensor<i32>, tensor<i32>
  }
  func.func private @step(%m: tensor<i32>) -> tensor<i32> {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %three = stablehlo.constant dense<3> : tensor<i32>
    %bit = stablehlo.remainder %m, %two : tensor<i32>
    %is_odd = stablehlo.compare EQ, %bit, %one, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %next = "stablehlo.if"(%is_odd) ({
      %tripled = stablehlo.multiply %m, %three : tensor<i32>
      %grown = stablehlo.add %tripled, %one : tensor<i32>
      stablehlo.return %grown : tensor<i32>
    }, {
      %half = stablehlo.divide %m, %two : tensor<i32>
      stablehlo.return %half : tensor<i32>
    }) : (tensor<i1>) -> tensor<i32>
    return %next : tensor<i32>
  }
}
